import { compactVerify } from "jose/jws/compact/verify";
import { JOSEError } from "jose/errors";
import type * as z from "zod";
import type { Environment } from "../../contract/schemas.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { Chain, ChainCache } from "./chain.ts";
import { parseJsonObject, type JsonObject } from "./encoding.ts";
import { ENVIRONMENTS, TIMES } from "./fields.ts";
import { parseJws, type ParsedJws } from "./jws.ts";
import type { Signer, Trust } from "./trust.ts";
import { rejected, verified, type Verdict } from "./verdict.ts";

/** A kind of payload that the store signs, and how it is told from the others. */
export interface PayloadKind<Payload> {
  /** Fields without which it is another kind. */
  readonly has: readonly string[];
  /** Fields that only other kinds have. */
  readonly lacks: readonly string[];
  readonly environment: string;
  readonly signedAt: string;
  /** Its other fields, read as this signer writes them. Unknown ones are tolerated. */
  readonly schema: Record<Signer, z.ZodType<Payload>>;
}

/** What the signature and its certificates say of any payload. */
export interface Signed {
  readonly environment: Environment;
  readonly signedAt: Instant;
  /** SHA-256 (hex, lower case) of the certificate of StoreKit testing that signed it; null where the App Store did. */
  readonly xcodeCertificate: string | null;
}

/** Clocks differ; a JWS may be signed so much later than now. */
const SKEW_MILLISECONDS = 60_000;

/** On libuv's threads, so that the JWS of one request are verified side by side. */
const hasValidSignature = async ({ compact }: ParsedJws, { key }: Chain): Promise<boolean> => {
  try {
    await compactVerify(compact, key, { algorithms: ["ES256"] });
    return true;
  } catch (error) {
    if (error instanceof JOSEError) return false;
    throw error;
  }
};

const readPayload = <Payload>(
  payload: JsonObject,
  kind: PayloadKind<Payload>,
  chain: Chain,
  moment: Instant,
): Verdict<Payload & Signed> => {
  const has = (field: string) => Object.hasOwn(payload, field);
  if (!kind.has.every(has) || kind.lacks.some(has)) return rejected("wrong_kind");

  const environment = ENVIRONMENTS[chain.signer].get(payload[kind.environment]);
  if (environment === undefined) return rejected("environment");

  const signedAt = TIMES[chain.signer].safeParse(payload[kind.signedAt]);
  if (!signedAt.success || signedAt.data > moment + SKEW_MILLISECONDS) return rejected("signing_time");
  if (signedAt.data < chain.notBefore || signedAt.data > chain.notAfter) return rejected("outside_validity");

  const fields = kind.schema[chain.signer].safeParse(payload);
  if (!fields.success) return rejected("malformed_payload");
  return verified({
    ...fields.data,
    environment,
    signedAt: signedAt.data,
    xcodeCertificate: chain.signer === "xcode" ? chain.anchor : null,
  });
};

/**
 * Verifies a JWS and reads its payload. Refused input is a verdict, never an error.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransaction
 */
export const verifySignedPayload = async <Payload>(
  compact: string,
  kind: PayloadKind<Payload>,
  chains: ChainCache,
  trust: Trust,
  moment: Instant,
): Promise<Verdict<Payload & Signed>> => {
  const parsed = parseJws(compact);
  if (parsed.outcome === "rejected") return parsed;
  const jws = parsed.payload;

  const trusted = chains.verify(jws.x5c, trust);
  if (trusted.outcome === "rejected") return trusted;
  const chain = trusted.payload;

  if (!(await hasValidSignature(jws, chain))) return rejected("signature");
  const payload = parseJsonObject(jws.payloadBytes);
  return payload === null ? rejected("malformed_payload") : readPayload(payload, kind, chain, moment);
};
