import {
  Environment,
  SignedDataVerifier,
  VerificationException,
  VerificationStatus,
} from "@apple/app-store-server-library";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { disagreement } from "../../../lib/stores/ios-store/claims.ts";
import { checkAppTransactionClaims } from "../../../lib/stores/ios-store/claims.ts";
import type { Trust } from "../../../lib/stores/ios-store/signatures/chain.ts";
import { createNotificationVerifier } from "../../../lib/stores/ios-store/notification.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { APPLE_ID, aVerifiedAppTransaction } from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

/** Configuration of both verifiers: the app, its environment, and the trusted roots. */
export interface Setting {
  readonly bundleIdentifier: string;
  readonly environment: "production" | "sandbox" | "xcode";
  /** DER. */
  readonly root: Buffer;
  /** DER of certificates of StoreKit testing that the configuration names. */
  readonly xcodeCertificates: readonly Buffer[];
}

export type Kind = "app transaction" | "transaction" | "renewal info" | "notification";

export const ACCEPTED = "accepted";

const trustOf = ({ root, xcodeCertificates }: Setting): Trust => ({
  roots: new Set([fingerprintOf({ certificate: root })]),
  xcodeCertificates: new Set(xcodeCertificates.map((certificate) => fingerprintOf({ certificate }))),
});

/** This service's verdict on a JWS: `accepted`, or the reason of its refusal. A notification's is on all that it carries. */
export const ours = async (jws: string, kind: Kind, setting: Setting): Promise<string> => {
  const verifier = createIosStoreVerifier();
  const trust = trustOf(setting);
  const { bundleIdentifier, environment } = setting;
  const configuration = {
    bundleIdentifier,
    appAppleIdentifier: APPLE_ID,
    environments: [environment],
    xcodeCertificates: [...trust.xcodeCertificates],
  };
  if (kind === "app transaction") {
    const verdict = await verifier.verifyAppTransaction(jws, trust, NOW);
    if (verdict.outcome === "rejected") return verdict.reason;
    return checkAppTransactionClaims(verdict.payload, configuration)?.code ?? ACCEPTED;
  }
  if (kind === "notification") {
    const notifications = createNotificationVerifier();
    const envelope = await notifications.verifyNotification(jws, trust, NOW);
    if (envelope.outcome === "rejected") return envelope.reason;
    const refused = checkAppTransactionClaims(envelope.payload, configuration);
    if (refused !== null) return refused.code;
    const parts = await notifications.verifyNotificationParts(envelope.payload, trust, NOW);
    if (parts.outcome === "rejected") return parts.reason;
    return parts.payload.isPartlyUnderstood ? "not understood" : ACCEPTED;
  }
  const { verifyTransactions, verifyRenewalInfos } = verifier;
  const verify = kind === "transaction" ? verifyTransactions : verifyRenewalInfos;
  const verdict = await verify([jws], trust, NOW);
  if (verdict.outcome === "rejected") return verdict.reason;
  const sameApp = { bundleId: bundleIdentifier, environment, appTransactionId: null };
  const other = disagreement(aVerifiedAppTransaction(sameApp), verdict.payload);
  return other === null ? ACCEPTED : `another ${other.field}`;
};

const ENVIRONMENTS = {
  production: Environment.PRODUCTION,
  sandbox: Environment.SANDBOX,
  xcode: Environment.XCODE,
} as const;

const VERIFY: Readonly<Record<Kind, (verifier: SignedDataVerifier, jws: string) => Promise<unknown>>> = {
  transaction: (verifier, jws) => verifier.verifyAndDecodeTransaction(jws),
  "app transaction": (verifier, jws) => verifier.verifyAndDecodeAppTransaction(jws),
  "renewal info": (verifier, jws) => verifier.verifyAndDecodeRenewalInfo(jws),
  notification: (verifier, jws) => verifier.verifyAndDecodeNotification(jws),
};

/** Verdict of Apple's library on the same bytes, offline. */
export const apples = (jws: string, kind: Kind, setting: Setting): Promise<string> => {
  const { root, environment, bundleIdentifier } = setting;
  const verifier = new SignedDataVerifier(
    [root],
    false,
    ENVIRONMENTS[environment],
    bundleIdentifier,
    APPLE_ID,
  );
  return VERIFY[kind](verifier, jws).then(
    () => ACCEPTED,
    (error: unknown) =>
      error instanceof VerificationException
        ? (VerificationStatus[error.status] ?? String(error.status))
        : `throws ${String(error)}`,
  );
};
