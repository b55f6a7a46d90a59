import { X509Certificate } from "node:crypto";
import {
  Environment,
  SignedDataVerifier,
  VerificationException,
  VerificationStatus,
} from "@apple/app-store-server-library";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { disagreement } from "../../../lib/stores/ios-store/agreement.ts";
import { checkAppTransactionClaims } from "../../../lib/stores/ios-store/app-transaction.ts";
import { verifyChain } from "../../../lib/stores/ios-store/signatures/chain.ts";
import type { Trust } from "../../../lib/stores/ios-store/signatures/trust.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { APPLE_ID, aVerifiedAppTransaction, BUNDLE } from "../../../testing/support/stores/ios-store.ts";
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

/** The envelope, its app, and all that it carries. */
const ofNotification = async (
  jws: string,
  { bundleIdentifier, environment, ...setting }: Setting,
): Promise<string> => {
  const verifier = createIosStoreVerifier();
  const trust = trustOf({ bundleIdentifier, environment, ...setting });
  const envelope = await verifier.verifyNotification(jws, trust, NOW);
  if (envelope.outcome === "rejected") return envelope.reason;
  const refused = checkAppTransactionClaims(envelope.payload, {
    bundleIdentifier,
    appAppleIdentifier: APPLE_ID,
    environments: [environment],
    xcodeCertificates: [...trust.xcodeCertificates],
  });
  // The use case calls it an invalid notification.
  if (refused !== null) return refused === "INVALID_APP_TRANSACTION" ? "INVALID_NOTIFICATION" : refused;
  const parts = await verifier.verifyNotificationParts(envelope.payload, trust, NOW);
  if (parts.outcome === "rejected") return parts.reason;
  return parts.payload.notUnderstood.length > 0 ? "not understood" : ACCEPTED;
};

/** This service's verdict on a JWS: `accepted`, or the reason of its refusal. */
export const ours = async (jws: string, kind: Kind, setting: Setting): Promise<string> => {
  const verifier = createIosStoreVerifier();
  const { bundleIdentifier, environment } = setting;
  if (kind === "app transaction") {
    const verdict = await verifier.verifyAppTransaction(jws, trustOf(setting), NOW);
    if (verdict.outcome === "rejected") return verdict.reason;
    const refused = checkAppTransactionClaims(verdict.payload, {
      bundleIdentifier,
      appAppleIdentifier: APPLE_ID,
      environments: [environment],
      xcodeCertificates: [...trustOf(setting).xcodeCertificates],
    });
    return refused ?? ACCEPTED;
  }
  if (kind === "notification") return ofNotification(jws, setting);
  const verdict =
    kind === "transaction"
      ? await verifier.verifyTransaction(jws, trustOf(setting), NOW)
      : await verifier.verifyRenewalInfos([jws], trustOf(setting), NOW);
  if (verdict.outcome === "rejected") return verdict.reason;
  const appTransaction = aVerifiedAppTransaction({
    bundleIdentifier,
    environment,
    appTransactionIdentifier: null,
  });
  const other = disagreement(appTransaction, [verdict.payload].flat());
  return other === null ? ACCEPTED : `another ${other.field}`;
};

const ENVIRONMENTS = {
  production: Environment.PRODUCTION,
  sandbox: Environment.SANDBOX,
  xcode: Environment.XCODE,
} as const;

const statusOf = (error: unknown): string =>
  error instanceof VerificationException
    ? (VerificationStatus[error.status] ?? String(error.status))
    : `throws ${error instanceof Error ? error.name : typeof error}`;

const answerOf = (verifying: Promise<unknown>): Promise<string> => verifying.then(() => ACCEPTED, statusOf);

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
  switch (kind) {
    case "transaction":
      return answerOf(verifier.verifyAndDecodeTransaction(jws));
    case "app transaction":
      return answerOf(verifier.verifyAndDecodeAppTransaction(jws));
    case "renewal info":
      return answerOf(verifier.verifyAndDecodeRenewalInfo(jws));
    case "notification":
      return answerOf(verifier.verifyAndDecodeNotification(jws));
  }
};

/** Certificates alone, without anything that they signed. */
export interface Certificates {
  readonly leaf: string;
  readonly intermediate: string;
  readonly root: string;
  readonly at: number;
}

export const oursOfCertificates = ({ leaf, intermediate, root, at }: Certificates): string => {
  const trust = {
    roots: new Set([fingerprintOf({ certificate: Buffer.from(root, "base64") })]),
    xcodeCertificates: new Set<string>(),
  };
  const verdict = verifyChain([leaf, intermediate, root], trust);
  if (verdict.outcome === "rejected") return verdict.reason;
  const { notBefore, notAfter } = verdict.payload;
  return at < notBefore || at > notAfter ? "outside_validity" : ACCEPTED;
};

class ChainVerifier extends SignedDataVerifier {
  verifyChain({ leaf, intermediate, root, at }: Certificates): Promise<unknown> {
    const [one, two, three] = [leaf, intermediate, root].map(
      (text) => new X509Certificate(Buffer.from(text, "base64")),
    );
    if (one === undefined || two === undefined || three === undefined)
      throw new Error("There are three certificates.");
    return this.verifyCertificateChain([three], one, two, new Date(at));
  }
}

export const applesOfCertificates = (certificates: Certificates): Promise<string> => {
  const root = Buffer.from(certificates.root, "base64");
  const verifier = new ChainVerifier([root], false, Environment.PRODUCTION, BUNDLE, APPLE_ID);
  return answerOf(verifier.verifyChain(certificates));
};
