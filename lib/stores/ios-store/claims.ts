import type { ErrorCode } from "../../contract/errors.ts";
import type { Environment } from "../../contract/schemas.ts";
import { LONGEST_NAME, type AppTransaction, type Signed } from "./payloads.ts";
import { certificatesOf, parseJsonObject, splitJws } from "./signatures/jws.ts";

export interface AcceptedAppTransactions {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number | null;
  readonly environments: readonly Environment[];
  readonly xcodeCertificates: readonly string[];
}

/** Claims that are checked against the configured app. A notification has them too. */
export type AppClaims = Pick<AppTransaction, "bundleId" | "appAppleId" | keyof Signed>;

/**
 * Checks a verified app transaction against the configured app; null: accepted. Production requires a configured Apple ID.
 * `because` is for the operator's log: it names the app and its configuration, never a person.
 */
export const checkAppTransactionClaims = (
  { environment, bundleId, appAppleId, xcodeCertificate }: AppClaims,
  accepted: AcceptedAppTransactions,
): {
  readonly code: Extract<ErrorCode, "INVALID_APP_TRANSACTION" | "ENVIRONMENT_NOT_ACCEPTED">;
  readonly because: string;
} | null => {
  const invalid = (because: string) => ({ code: "INVALID_APP_TRANSACTION", because }) as const;
  const notAccepted = (because: string) => ({ code: "ENVIRONMENT_NOT_ACCEPTED", because }) as const;
  if (bundleId !== accepted.bundleIdentifier)
    return invalid(`the bundle is ${bundleId}, the manifest says ${accepted.bundleIdentifier}`);
  if (environment === "xcode")
    return xcodeCertificate !== null && accepted.xcodeCertificates.includes(xcodeCertificate)
      ? null
      : notAccepted(
          "it was signed in Xcode, with a certificate that the manifest does not list in xcodeCertificates",
        );
  if (environment === "production") {
    const { appAppleIdentifier: expected } = accepted;
    if (expected === null)
      return notAccepted("it is of production, and the manifest has no appAppleIdentifier");
    if (appAppleId !== expected)
      return invalid(`the app's Apple ID is ${appAppleId ?? "missing"}, the manifest says ${expected}`);
  }
  return accepted.environments.includes(environment)
    ? null
    : notAccepted(`it is of ${environment}, the manifest accepts ${accepted.environments.join(", ")}`);
};

/**
 * Bundle that a JWS with one certificate, as of Xcode, claims; null for any other. Nothing is verified: it only selects the
 * configuration whose certificates can verify the JWS.
 */
export const selfSignedBundle = (compact: string): string | null => {
  const jws = splitJws(compact);
  if (jws.outcome === "rejected") return null;
  const certificates = certificatesOf(jws.payload);
  if (certificates.outcome === "rejected" || certificates.payload.length !== 1) return null;
  const bundle = parseJsonObject(jws.payload.payload)?.["bundleId"];
  const isName = typeof bundle === "string" && bundle.length > 0 && bundle.length <= LONGEST_NAME;
  // It becomes part of a key before anything is verified, and a key is Unicode text.
  return isName && bundle.isWellFormed() ? bundle : null;
};

export interface NamesAppTransaction {
  readonly appTransactionId: string | null;
  /** Its lineage; an app transaction has none. */
  readonly originalTransactionId?: string;
}

/** Fields in which the payloads of one request must agree. A renewal info names no bundle. */
export interface Agreeing extends NamesAppTransaction, Pick<Signed, "environment"> {
  readonly bundleId?: string;
}

/** First payload of a list that disagrees with those before it, and the field that differs. */
interface Disagreement {
  readonly index: number;
  readonly field: "bundleId" | "environment" | "appTransactionId";
}

/**
 * App transaction ids common to all lineages that carry any; an app transaction is a lineage. `other`: index of the first
 * payload of a lineage without them.
 */
const commonIdentifiers = (
  payloads: readonly NamesAppTransaction[],
): { readonly common: readonly string[]; readonly other: number | null } => {
  const carrying = payloads.flatMap(({ originalTransactionId: lineage, appTransactionId: value }, index) =>
    value === null ? [] : [{ lineage, value, index }],
  );
  let common: readonly string[] | null = null;
  for (const [first, ...others] of Map.groupBy(carrying, ({ lineage }) => lineage).values()) {
    if (first === undefined) continue;
    const values: ReadonlySet<string> = new Set([first, ...others].map(({ value }) => value));
    common = (common ?? [...values]).filter((value) => values.has(value));
    if (common.length === 0) return { common, other: first.index };
  }
  return { common: common ?? [], other: null };
};

/** App transaction id of the person: the one common to all lineages; null where there is none, or more than one. */
export const commonAppTransaction = (payloads: readonly NamesAppTransaction[]): string | null => {
  const [value, ...others] = commonIdentifiers(payloads).common;
  return value === undefined || others.length > 0 ? null : value;
};

/**
 * First payload of another app, environment or Apple Account than those before it; null: all agree. App transaction ids
 * are compared lineage by lineage: a lineage is one person's, and has been seen to carry two (Apple's developer forum,
 * "Inconsistent appTransactionId in Transaction History"). Older payloads, without one, agree with any. `before` agree.
 */
export const disagreement = (
  first: Agreeing,
  payloads: readonly Agreeing[],
  before: readonly Agreeing[] = [],
): Disagreement | null => {
  const agreed = [first, ...before];
  const { other } = commonIdentifiers([...agreed, ...payloads]);
  for (const [index, { bundleId = first.bundleId, environment }] of payloads.entries()) {
    if (bundleId !== first.bundleId) return { index, field: "bundleId" };
    if (environment !== first.environment) return { index, field: "environment" };
    if (agreed.length + index === other) return { index, field: "appTransactionId" };
  }
  return null;
};
