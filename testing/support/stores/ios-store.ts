import type { Identity } from "../../../sandbox/ios-store/certificates.ts";
import { fingerprintOf, signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  transactionPayload,
  type SandboxCustomer,
} from "../../../sandbox/ios-store/shop/payloads.ts";
import type { IosStoreConfiguration } from "../../../lib/applications/application.ts";
import type { AppTransaction, RenewalInfo, Transaction } from "../../../lib/stores/ios-store/payloads.ts";
import type { Notification } from "../../../lib/stores/ios-store/notification.ts";
import type { Trust } from "../../../lib/stores/ios-store/signatures/chain.ts";
import type { Verdict } from "../../../lib/stores/ios-store/signatures/verdict.ts";
import { DAY, NOW } from "./purchases.ts";
import {
  checkSignature,
  type CheckKind,
  type SignatureCheck,
} from "../../../lib/stores/ios-store/signatures/jws.ts";

export const BUNDLE = "com.example.trails";
export const APPLE_ID = 1_234_567_890;
export const ACCOUNT = "704000000000001";

/** A payload in the store's own field names; a field that is undefined is left out. */
export type Payload = Readonly<Record<string, unknown>>;

const APP = { bundleId: BUNDLE, appAppleId: APPLE_ID };

const customer: SandboxCustomer = {
  bundleIdentifier: BUNDLE,
  appAppleIdentifier: APPLE_ID,
  environment: "Production",
  appTransactionIdentifier: ACCOUNT,
  receiptCreationDate: NOW - 2000,
};

/** The payload of an active monthly subscription. */
export const aTransaction = (fields: Payload = {}): Payload => ({
  ...transactionPayload(customer, {
    productIdentifier: "com.example.trails.premium.monthly",
    type: "Auto-Renewable Subscription",
    transactionIdentifier: "700000000000002",
    originalTransactionIdentifier: "700000000000001",
    purchaseDate: NOW - 10 * DAY,
    expiresDate: NOW + 20 * DAY,
    signedDate: NOW - 1000,
  }),
  ...fields,
});

/** The payload of an app transaction in production. */
export const anAppTransaction = (fields: Payload = {}): Payload => ({
  ...appTransactionPayload(customer),
  ...fields,
});

const RENEWAL = {
  originalTransactionId: "700000000000001",
  productId: "com.example.trails.premium.monthly",
  autoRenewProductId: "com.example.trails.premium.monthly",
  autoRenewStatus: 1,
  renewalDate: NOW + 20 * DAY,
  appTransactionId: ACCOUNT,
};

/** The payload of the renewal info of {@link aTransaction}'s subscription, which will renew. */
export const aRenewalInfo = (fields: Payload = {}): Payload => ({
  ...RENEWAL,
  recentSubscriptionStartDate: NOW - 10 * DAY,
  renewalPrice: 4990,
  currency: "USD",
  environment: "Production",
  signedDate: NOW - 1000,
  ...fields,
});

/** The app fields that `data`, `summary` and `appData` of a notification share. */
export const anApp = (fields: Payload = {}): Payload => ({
  ...APP,
  environment: "Production",
  ...fields,
});

/** The payload of a notification without a part; one of the four subjects is to be added. */
export const anEnvelope = (fields: Payload = {}): Payload => ({
  notificationType: "DID_RENEW",
  notificationUUID: "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
  version: "2.0",
  signedDate: NOW - 500,
  ...fields,
});

/** The parts of a notification, as payloads; null: there is none. */
interface Parts {
  readonly transaction?: Payload | null;
  readonly renewalInfo?: Payload | null;
}

/** The payload of a notification about a purchase, by default with {@link aTransaction} and {@link aRenewalInfo}. */
export const aNotification = (
  signer: JwsSigner,
  { transaction = aTransaction(), renewalInfo = aRenewalInfo() }: Parts = {},
  fields: Payload = {},
  app: Payload = {},
): Payload =>
  anEnvelope({
    data: {
      ...anApp(),
      bundleVersion: "1",
      status: 1,
      ...(transaction !== null && { signedTransactionInfo: signJws(transaction, signer) }),
      ...(renewalInfo !== null && { signedRenewalInfo: signJws(renewalInfo, signer) }),
      ...app,
    },
    ...fields,
  });

/** {@link aRenewalInfo} in its verified form. */
export const aVerifiedRenewalInfo = (fields: Partial<RenewalInfo> = {}): RenewalInfo => ({
  ...RENEWAL,
  gracePeriodExpiresDate: null,
  isInBillingRetryPeriod: null,
  expirationIntent: null,
  environment: "production",
  signedAt: NOW - 1000,
  xcodeCertificate: null,
  ...fields,
});

/** A verified notification without parts. */
export const aVerifiedNotification = (fields: Partial<Notification> = {}): Notification => ({
  identifier: "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
  kind: "DID_RENEW",
  type: "DID_RENEW",
  ...APP,
  signedTransaction: null,
  signedRenewalInfo: null,
  signedAppTransaction: null,
  consumptionRequestReason: null,
  isInGrace: false,
  environment: "production",
  signedAt: NOW - 500,
  xcodeCertificate: null,
  ...fields,
});

/** {@link aTransaction} in its verified form. */
export const aVerifiedTransaction = (fields: Partial<Transaction> = {}): Transaction => ({
  transactionId: "700000000000002",
  originalTransactionId: "700000000000001",
  productId: "com.example.trails.premium.monthly",
  bundleId: BUNDLE,
  appTransactionId: ACCOUNT,
  previousOriginalTransactionId: null,
  subscriptionGroupIdentifier: null,
  webOrderLineItemId: null,
  type: "Auto-Renewable Subscription",
  purchaseDate: NOW - 10 * DAY,
  originalPurchaseDate: null,
  expiresDate: NOW + 20 * DAY,
  quantity: 1,
  revocationDate: null,
  revocationPercentage: null,
  isUpgraded: false,
  environment: "production",
  signedAt: NOW - 1000,
  xcodeCertificate: null,
  ...fields,
});

/** {@link anAppTransaction} in its verified form. */
export const aVerifiedAppTransaction = (fields: Partial<AppTransaction> = {}): AppTransaction => ({
  ...APP,
  appTransactionId: ACCOUNT,
  environment: "production",
  signedAt: NOW - 2000,
  xcodeCertificate: null,
  ...fields,
});

/** An application's configuration for {@link BUNDLE}: production alone, and no key of the App Store Server API. */
export const aBundle = (fields: Partial<IosStoreConfiguration> = {}): IosStoreConfiguration => ({
  bundleIdentifier: BUNDLE,
  appAppleIdentifier: APPLE_ID,
  environments: ["production"],
  xcodeCertificates: [],
  serverApi: null,
  notifications: null,
  ...fields,
});

export const trusting = ({
  roots = [],
  xcodeCertificates = [],
}: {
  roots?: readonly Identity[];
  xcodeCertificates?: readonly Identity[];
}): Trust => ({
  roots: new Set(roots.map(fingerprintOf)),
  xcodeCertificates: new Set(xcodeCertificates.map(fingerprintOf)),
});

/** The outcome in a word: `verified`, or the reason of the refusal. */
export const word = (verdict: Verdict<unknown>): string =>
  verdict.outcome === "verified" ? "verified" : verdict.reason;

/** The real check, and the number of checks of each kind so far. */
export const watchChecks = () => {
  const done: Record<CheckKind, number> = { first: 0, alone: 0, together: 0 };
  const checks: SignatureCheck = (kind, jws, key) => {
    done[kind] += 1;
    return checkSignature(kind, jws, key);
  };
  return { checks, done };
};
