import { randomUUID } from "node:crypto";
import { DAY } from "../../../lib/duration.ts";
import { signJws, type JwsSigner } from "../../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  newIdentifier,
  transactionPayload,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../../../sandbox/ios-store/shop/payloads.ts";
import { DEMO } from "../../../local/demo.ts";
import { aNotification, aRenewalInfo } from "./ios-store.ts";

/** Signed purchases as an app sends them, with throw-away certificates about as large as the App Store's. */

/** A new person's app. */
export const newDevice = (changes: Partial<SandboxCustomer> = {}): SandboxCustomer => ({
  bundleIdentifier: DEMO.bundleIdentifier,
  appAppleIdentifier: DEMO.appAppleIdentifier,
  environment: "Production",
  appTransactionIdentifier: newIdentifier(changes.environment ?? "Production"),
  receiptCreationDate: Date.now() - DAY,
  ...changes,
});

/** A monthly subscription, bought ten days ago. */
export const subscription = (changes: Partial<SandboxTransaction> = {}): SandboxTransaction => ({
  productIdentifier: DEMO.iosSubscription,
  type: "Auto-Renewable Subscription",
  purchaseDate: Date.now() - 10 * DAY,
  expiresDate: Date.now() + 20 * DAY,
  signedDate: Date.now() - DAY,
  ...changes,
});

/** The same, in a lineage that its renewals and renewal infos can name. */
export const renewableSubscription = (): SandboxTransaction =>
  subscription({ originalTransactionIdentifier: newIdentifier("Production") });

/** Non-consumables, each with its own lineage. */
export const separatePurchases = (count: number): SandboxTransaction[] =>
  Array.from({ length: count }, (_, index) =>
    subscription({
      productIdentifier: `${DEMO.iosNonConsumable}.${index}`,
      type: "Non-Consumable",
      purchaseDate: Date.now() - (10 + index) * DAY,
    }),
  );

/** A weekly subscription and its renewals, in one lineage. */
export const renewals = (count: number): SandboxTransaction[] => {
  const originalTransactionIdentifier = newIdentifier("Production");
  const start = Date.now() - 10 * DAY;
  return Array.from({ length: count }, (_, index) =>
    subscription({
      originalTransactionIdentifier,
      purchaseDate: start - index * 7 * DAY,
      expiresDate: start - (index - 1) * 7 * DAY,
    }),
  );
};

export interface SignedRequest {
  readonly signedAppTransaction: string;
  readonly signedTransactions: string[];
}

export const signedRequest = (
  device: SandboxCustomer,
  transactions: readonly SandboxTransaction[],
  signer: JwsSigner,
): SignedRequest => ({
  signedAppTransaction: signJws(appTransactionPayload(device), signer),
  signedTransactions: transactions.map((transaction) =>
    signJws(transactionPayload(device, transaction), signer),
  ),
});

const renewalInfoOf = (
  { appTransactionIdentifier }: SandboxCustomer,
  { originalTransactionIdentifier, productIdentifier, ...dates }: SandboxTransaction,
) =>
  aRenewalInfo({
    originalTransactionId: originalTransactionIdentifier,
    productId: productIdentifier,
    autoRenewProductId: productIdentifier,
    signedDate: dates.signedDate,
    recentSubscriptionStartDate: dates.purchaseDate,
    renewalDate: dates.expiresDate,
    appTransactionId: appTransactionIdentifier,
  });

/** Renewal info of a subscription that will renew. */
export const signedRenewalInfo = (
  device: SandboxCustomer,
  bought: SandboxTransaction,
  signer: JwsSigner,
): string => signJws(renewalInfoOf(device, bought), signer);

/** App Store Server Notification of a renewal. */
export const signedRenewalNotification = (
  device: SandboxCustomer,
  renewal: SandboxTransaction,
  signer: JwsSigner,
): string => {
  const parts = {
    transaction: transactionPayload(device, renewal),
    renewalInfo: renewalInfoOf(device, renewal),
  };
  const fields = { notificationUUID: randomUUID(), signedDate: renewal.signedDate };
  const app = { appAppleId: DEMO.appAppleIdentifier, bundleId: DEMO.bundleIdentifier };
  return signJws(aNotification(signer, parts, fields, app), signer);
};
