import type { Environment } from "../../contract/schemas.ts";
import { MINUTE } from "../../duration.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import {
  appTransactionKind,
  renewalInfoKind,
  transactionKind,
  type AppTransaction,
  type PayloadKind,
  type RenewalInfo,
  type Signed,
  type Transaction,
} from "./payloads.ts";
import {
  createKnownChains,
  verifyChainOnce,
  type Chain,
  type KnownChains,
  type Trust,
} from "./signatures/chain.ts";
import {
  certificatesOf,
  checkSignature,
  parseJsonObject,
  splitJws,
  type CompactJws,
  type JsonObject,
  type SignatureCheck,
} from "./signatures/jws.ts";
import { rejected, verified, type Rejected, type Verdict, type Verified } from "./signatures/verdict.ts";

/** Environments that each signer signs for, by the store's names. */
const ENVIRONMENTS: Record<Chain["signer"], ReadonlyMap<unknown, Environment>> = {
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
interface Signers {
  /** By their exact certificates: with a genuine chain under ever new headers, a stranger costs no certificate checks. */
  readonly chains: KnownChains;
  /** By the exact header of a JWS whose signature was valid. The signature covers it, so no stranger adds one. */
  readonly headers: KnownChains;
  readonly check: SignatureCheck;
  /** How a JWS is checked whose header is known. */
  readonly kind: "alone" | "together";
}

export const createSigners = (check: SignatureCheck): Signers => ({
  chains: createKnownChains(),
  headers: createKnownChains(),
  check,
  kind: "alone",
});

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
const isKnownSigner = (compact: string, { headers }: Signers, trust: Trust): boolean =>
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

/**
 * All payloads in order, or the first refused one with its index. JWS of known signers are verified in parallel; after
 * a refusal, later ones may stay unverified.
 */
export type VerifyAll<Payload> = (
  compacts: readonly string[],
  trust: Trust,
  moment: Instant,
) => Promise<Verified<readonly Payload[]> | (Rejected & { readonly index: number })>;

/**
 * JWS of a request that are verified concurrently. A refused one wastes at most this many signature checks. 1,000 valid
 * ones take 8 % longer than without a limit, and 25 % longer with 32.
 */
export const AT_ONCE = 128;

/** Verifies what the App Store signs. `moment` is now: a later signing time is refused. */
export const createIosStoreVerifier = (check: SignatureCheck = checkSignature) => {
  const alone = createSigners(check);
  const together: Signers = { ...alone, kind: "together" };
  const verifyAll =
    <Payload>(kind: PayloadKind<Payload>): VerifyAll<Payload & Signed> =>
    async (compacts, trust, moment) => {
      const signers = compacts.length > 1 ? together : alone;
      const verdicts: Promise<Verdict<Payload & Signed>>[] = [];
      for (const [index, compact] of compacts.entries()) {
        // A new signer's certificates are checked on this thread: nothing else starts before that is done.
        const last = isKnownSigner(compact, signers, trust) ? index + 1 - AT_ONCE : index;
        const verdict = verifySignedPayload(compact, kind, signers, trust, moment);
        // Handled by the awaits below; until then it would be unhandled, and end the process.
        verdict.catch(() => undefined);
        verdicts.push(verdict);
        if ((await verdicts[last])?.outcome === "rejected") break;
      }
      const payloads: (Payload & Signed)[] = [];
      for (const [index, verdict] of (await Promise.all(verdicts)).entries()) {
        if (verdict.outcome === "rejected") return { ...verdict, index };
        payloads.push(verdict.payload);
      }
      return verified(payloads);
    };
  const verifyTransactions: VerifyAll<Transaction> = verifyAll(transactionKind);
  const verifyRenewalInfos: VerifyAll<RenewalInfo> = verifyAll(renewalInfoKind);
  return {
    verifyAppTransaction: (
      compact: string,
      trust: Trust,
      moment: Instant,
    ): Promise<Verdict<AppTransaction>> =>
      verifySignedPayload(compact, appTransactionKind, alone, trust, moment),
    verifyTransactions,
    verifyRenewalInfos,
  };
};
export type IosStoreVerifier = ReturnType<typeof createIosStoreVerifier>;
