import * as z from "zod/mini";
import type { ErrorCode } from "../../contract/errors.ts";
import type { Environment } from "../../contract/schemas.ts";
import { once } from "../../once.ts";
import { parseJsonObject } from "./signatures/encoding.ts";
import { identifierOrNull, LONGEST_NAME, name, storeIdentifier } from "./fields.ts";
import { certificatesOf, splitJws } from "./signatures/jws.ts";
import type { PayloadKind, Signed } from "./signatures/signed-payload.ts";

const schema = once(() =>
  z.pipe(
    z.object({
      bundleId: name(),
      appAppleId: z.nullish(z.int().check(z.nonnegative())),
      appTransactionId: z.nullish(storeIdentifier()),
    }),
    z.transform(({ bundleId, appAppleId, appTransactionId }) => ({
      bundleIdentifier: bundleId,
      /** The app's Apple ID; null outside production, where it is absent or zero. */
      appAppleIdentifier: appAppleId || null,
      /** Identifies the Apple Account in this app; null in older app transactions. */
      appTransactionIdentifier: identifierOrNull(appTransactionId),
    })),
  ),
);

type AppTransactionFields = Readonly<z.output<ReturnType<typeof schema>>>;

/**
 * App transaction: the App Store's signed record of a customer's copy of an app.
 *
 * @see https://developer.apple.com/documentation/storekit/apptransaction
 */
export interface AppTransaction extends AppTransactionFields, Signed {}

export const appTransactionKind: PayloadKind<AppTransactionFields> = {
  // Fields of transactions, renewal info and notifications.
  lacks: ["transactionId", "originalTransactionId", "autoRenewStatus", "notificationType"],
  environment: ({ receiptType }) => receiptType,
  signedAt: "receiptCreationDate",
  schema,
};

export interface AcceptedAppTransactions {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number | null;
  readonly environments: readonly Environment[];
  readonly xcodeCertificates: readonly string[];
}

/** Claims that are checked against the configured app. A notification has them too. */
export type AppClaims = Pick<AppTransaction, "bundleIdentifier" | "appAppleIdentifier" | keyof Signed>;

/** Why claims are refused. `because` is for the operator's log: it names the app and its configuration, never a person. */
export interface RefusedClaims {
  readonly code: Extract<ErrorCode, "INVALID_APP_TRANSACTION" | "ENVIRONMENT_NOT_ACCEPTED">;
  readonly because: string;
}

/** Checks a verified app transaction against the configured app; null: accepted. Production requires a configured Apple ID. */
export const checkAppTransactionClaims = (
  { environment, bundleIdentifier, appAppleIdentifier, xcodeCertificate }: AppClaims,
  accepted: AcceptedAppTransactions,
): RefusedClaims | null => {
  const invalid = (because: string) => ({ code: "INVALID_APP_TRANSACTION", because }) as const;
  const notAccepted = (because: string) => ({ code: "ENVIRONMENT_NOT_ACCEPTED", because }) as const;
  if (bundleIdentifier !== accepted.bundleIdentifier)
    return invalid(`the bundle is ${bundleIdentifier}, the manifest says ${accepted.bundleIdentifier}`);
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
    if (appAppleIdentifier !== expected)
      return invalid(
        `the app's Apple ID is ${appAppleIdentifier ?? "missing"}, the manifest says ${expected}`,
      );
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
