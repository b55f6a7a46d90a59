import type * as z from "zod/mini";
import type { Environment } from "../../../contract/schemas.ts";
import { MINUTE } from "../../../duration.ts";
import { isInstant, type Instant } from "../../../entitlements/time.ts";
import { verifyChainOnce, type Chain, type KnownChains } from "./chain.ts";
import { parseJsonObject, type JsonObject } from "./encoding.ts";
import { certificatesOf, splitJws, type CompactJws, type CheckKind, type SignatureCheck } from "./jws.ts";
import type { Signer, Trust } from "./trust.ts";
import { rejected, verified, type Verdict } from "./verdict.ts";

/** A kind of signed payload, and what distinguishes it from the others. */
export interface PayloadKind<Payload> {
  /** Fields that only other kinds have. */
  readonly lacks: readonly string[];
  /** The store's name of its environment; anything else where it has none. */
  readonly environment: (payload: JsonObject) => unknown;
  /** Field with the time of signing. */
  readonly signedAt: string;
  /** Reads its other fields. Unknown fields are tolerated. */
  readonly schema: () => z.ZodMiniType<Payload>;
}

/** Facts that verification establishes for any payload. */
export interface Signed {
  readonly environment: Environment;
  readonly signedAt: Instant;
  /** SHA-256 (hex, lower case) of the StoreKit testing certificate that signed it; null: the App Store signed it. */
  readonly xcodeCertificate: string | null;
}

/** Environments that each signer signs for, by the store's names. */
const ENVIRONMENTS: Record<Signer, ReadonlyMap<unknown, Environment>> = {
  "app-store": new Map([
    ["Production", "production"],
    ["Sandbox", "sandbox"],
  ]),
  xcode: new Map([["Xcode", "xcode"]]),
};

/** Allowance for clock skew: how far in the future a JWS may be signed. */
const SKEW_MILLISECONDS = MINUTE;

const readPayload = <Payload>(
  payload: JsonObject,
  kind: PayloadKind<Payload>,
  chain: Chain,
  moment: Instant,
): Verdict<Payload & Signed> => {
  if (kind.lacks.some((field) => Object.hasOwn(payload, field))) return rejected("wrong_kind");
  // First, as a notification's part in an unknown form is left out, and not refused.
  const fields = kind.schema().safeParse(payload);
  if (!fields.success) return rejected("malformed_payload");

  const name = kind.environment(payload);
  const environment = ENVIRONMENTS[chain.signer].get(name);
  if (environment === undefined) return rejected(name === undefined ? "malformed_payload" : "environment");

  const written = payload[kind.signedAt];
  // Xcode signs fractions.
  const signedAt = chain.signer === "xcode" && typeof written === "number" ? Math.floor(written) : written;
  if (!isInstant(signedAt) || signedAt > moment + SKEW_MILLISECONDS) return rejected("signing_time");
  if (signedAt < chain.notBefore || signedAt > chain.notAfter) return rejected("outside_validity");
  return verified({
    ...fields.data,
    environment,
    signedAt,
    xcodeCertificate: chain.signer === "xcode" ? chain.anchor : null,
  });
};

/** Signers verified before, so that the next JWS of the same signer costs one signature check. */
export interface Signers {
  /** By their exact certificates: with a genuine chain under ever new headers, a stranger costs no certificate checks. */
  readonly chains: KnownChains;
  /** By the exact header of a JWS whose signature was valid. The signature covers it, so no stranger adds one. */
  readonly headers: KnownChains;
  readonly check: SignatureCheck;
  /** How a JWS is checked whose header is known. */
  readonly kind: Exclude<CheckKind, "first">;
}

/** Verifies a JWS whose header is new: its certificates, then the JWS as a whole. */
const verifySigner = async (jws: CompactJws, signers: Signers, trust: Trust): Promise<Verdict<Chain>> => {
  const certificates = certificatesOf(jws);
  if (certificates.outcome === "rejected") return certificates;
  const chain = verifyChainOnce(certificates.payload, trust, signers.chains);
  if (chain.outcome === "rejected") return chain;
  if (!(await signers.check("first", jws, chain.payload.key))) return rejected("signature");
  signers.headers.keep(jws.header, chain.payload);
  return chain;
};

/** Whether the header of a JWS is known, so that it costs only one signature check. */
export const isKnownSigner = (compact: string, { headers }: Signers, trust: Trust): boolean =>
  headers.find(compact.slice(0, Math.max(0, compact.indexOf("."))), trust) !== null;

/**
 * Verifies a JWS and parses its payload. Refused input is a verdict, never an error.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransaction
 */
export const verifySignedPayload = async <Payload>(
  compact: string,
  kind: PayloadKind<Payload>,
  signers: Signers,
  trust: Trust,
  moment: Instant,
): Promise<Verdict<Payload & Signed>> => {
  const split = splitJws(compact);
  if (split.outcome === "rejected") return split;
  const jws = split.payload;

  let chain = signers.headers.find(jws.header, trust);
  if (chain === null) {
    const signer = await verifySigner(jws, signers, trust);
    if (signer.outcome === "rejected") return signer;
    chain = signer.payload;
  } else if (!(await signers.check(signers.kind, jws, chain.key))) return rejected("signature");

  const payload = parseJsonObject(jws.payload);
  return payload === null ? rejected("malformed_payload") : readPayload(payload, kind, chain, moment);
};
