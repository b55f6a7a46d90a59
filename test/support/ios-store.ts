import { fingerprintOf, type Identity } from "../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  transactionPayload,
  type SandboxCustomer,
} from "../../sandbox/ios-store/app-store.ts";
import type { AppTransaction } from "../../lib/stores/ios-store/app-transaction.ts";
import type { Transaction } from "../../lib/stores/ios-store/transaction.ts";
import type { Trust } from "../../lib/stores/ios-store/trust.ts";
import type { Verdict } from "../../lib/stores/ios-store/verdict.ts";
import { DAY, NOW } from "./purchases.ts";

export const BUNDLE = "com.example.trails";
export const APPLE_ID = 1_234_567_890;
export const ACCOUNT = "704000000000001";

/** A payload in the store's own field names; a field that is undefined is left out. */
export type Payload = Readonly<Record<string, unknown>>;

const customer: SandboxCustomer = {
  bundleIdentifier: BUNDLE,
  appAppleIdentifier: APPLE_ID,
  environment: "Production",
  appTransactionIdentifier: ACCOUNT,
  receiptCreationDate: NOW - 2000,
  transactions: [],
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

/** {@link aTransaction} in its verified form. */
export const aVerifiedTransaction = (fields: Partial<Transaction> = {}): Transaction => ({
  transactionIdentifier: "700000000000002",
  originalTransactionIdentifier: "700000000000001",
  productIdentifier: "com.example.trails.premium.monthly",
  bundleIdentifier: BUNDLE,
  appTransactionIdentifier: ACCOUNT,
  previousOriginalTransactionIdentifier: null,
  subscriptionGroupIdentifier: null,
  webOrderLineItemIdentifier: null,
  nature: "auto_renewable",
  purchasedAt: NOW - 10 * DAY,
  originalPurchasedAt: null,
  expiresAt: NOW + 20 * DAY,
  quantity: 1,
  revokedAt: null,
  revokedMilliPercent: null,
  isUpgraded: false,
  environment: "production",
  signedAt: NOW - 1000,
  xcodeCertificate: null,
  ...fields,
});

/** {@link anAppTransaction} in its verified form. */
export const aVerifiedAppTransaction = (fields: Partial<AppTransaction> = {}): AppTransaction => ({
  bundleIdentifier: BUNDLE,
  appAppleIdentifier: APPLE_ID,
  appTransactionIdentifier: ACCOUNT,
  environment: "production",
  signedAt: NOW - 2000,
  xcodeCertificate: null,
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
