import * as z from "zod/mini";
import type { ErrorCode } from "../../contract/errors.ts";
import type { Environment } from "../../contract/schemas.ts";
import { once } from "../../once.ts";
import { parseJsonObject } from "./signatures/encoding.ts";
import { identifierOrNull, LONGEST_NAME, name, storeIdentifier } from "./fields.ts";
import { certificatesOf, splitJws } from "./signatures/jws.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";

/**
 * App transaction: the App Store's signed record of a customer's copy of an app.
 *
 * @see https://developer.apple.com/documentation/storekit/apptransaction
 */
export interface AppTransactionFields {
  readonly bundleIdentifier: string;
  /** The app's Apple ID; null outside production. */
  readonly appAppleIdentifier: number | null;
  /** Identifies the Apple Account in this app; null in older app transactions, or where it is "0". */
  readonly appTransactionIdentifier: string | null;
}

export interface AppTransaction extends AppTransactionFields, Signed {}

const schema = once(() =>
  z.object({
    bundleId: name(),
    appAppleId: z.nullish(z.int().check(z.nonnegative())),
    appTransactionId: z.nullish(storeIdentifier()),
  }),
);

type Written = z.output<ReturnType<typeof schema>>;

export const appTransactionKind: PayloadKind<Written, AppTransactionFields> = {
  has: ["bundleId", "receiptType", "receiptCreationDate"],
  // Fields of transactions, renewal info and notifications.
  lacks: ["transactionId", "originalTransactionId", "autoRenewStatus", "notificationType"],
  environment: ({ receiptType }) => receiptType,
  signedAt: "receiptCreationDate",
  schema: { "app-store": schema, xcode: schema },
  read: ({ bundleId, appAppleId = null, appTransactionId }) => ({
    bundleIdentifier: bundleId,
    // Outside production it is absent or zero.
    appAppleIdentifier: appAppleId === 0 ? null : appAppleId,
    appTransactionIdentifier: identifierOrNull(appTransactionId),
  }),
};

/** App transactions that a store configuration accepts. */
export interface AcceptedAppTransactions {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number | null;
  readonly environments: readonly Environment[];
  readonly xcodeCertificates: readonly string[];
}

/** Claims that are checked against the configured app. A notification has them too. */
export type AppClaims = Pick<AppTransaction, "bundleIdentifier" | "appAppleIdentifier" | keyof Signed>;

/**
 * Checks a verified app transaction against the configured app; null: it is accepted. Production requires the
 * configured Apple ID, so a configuration without one does not accept production.
 */
export const checkAppTransactionClaims = (
  appTransaction: AppClaims,
  accepted: AcceptedAppTransactions,
): Extract<ErrorCode, "INVALID_APP_TRANSACTION" | "ENVIRONMENT_NOT_ACCEPTED"> | null => {
  const { environment, bundleIdentifier, appAppleIdentifier, xcodeCertificate } = appTransaction;
  if (bundleIdentifier !== accepted.bundleIdentifier) return "INVALID_APP_TRANSACTION";
  if (environment === "xcode")
    return xcodeCertificate !== null && accepted.xcodeCertificates.includes(xcodeCertificate)
      ? null
      : "ENVIRONMENT_NOT_ACCEPTED";
  if (environment === "production") {
    if (accepted.appAppleIdentifier === null) return "ENVIRONMENT_NOT_ACCEPTED";
    if (appAppleIdentifier !== accepted.appAppleIdentifier) return "INVALID_APP_TRANSACTION";
  }
  return accepted.environments.includes(environment) ? null : "ENVIRONMENT_NOT_ACCEPTED";
};

/**
 * Why {@link checkAppTransactionClaims} refuses, for the operator's log. It names the app and its configuration, never
 * a person.
 */
export const whyRefused = (
  { environment, bundleIdentifier, appAppleIdentifier }: AppClaims,
  accepted: AcceptedAppTransactions,
): string => {
  if (bundleIdentifier !== accepted.bundleIdentifier)
    return `the bundle is ${bundleIdentifier}, the manifest says ${accepted.bundleIdentifier}`;
  if (environment === "xcode")
    return "it was signed in Xcode, with a certificate that the manifest does not list in xcodeCertificates";
  if (environment === "production" && accepted.appAppleIdentifier === null)
    return "it is of production, and the manifest has no appAppleIdentifier";
  if (environment === "production" && appAppleIdentifier !== accepted.appAppleIdentifier)
    return `the app's Apple ID is ${appAppleIdentifier ?? "missing"}, the manifest says ${accepted.appAppleIdentifier}`;
  return `it is of ${environment}, the manifest accepts ${accepted.environments.join(", ")}`;
};

/**
 * Bundle that a JWS in the form of StoreKit testing in Xcode (one certificate) claims; null for any other JWS. Nothing
 * is verified: the bundle only selects the configuration whose certificates can verify the JWS.
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
