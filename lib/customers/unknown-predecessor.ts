import type { AndroidStoreConfiguration } from "../applications/application.ts";
import { referenceText } from "../entitlements/purchase.ts";
import type { AndroidStore } from "../stores/android-store/android-store.ts";
import { purchaseKeyOfToken } from "../stores/android-store/purchase-token.ts";
import type { VerifiedPurchase } from "../stores/android-store/reading.ts";
import type { KnownFacts } from "./customer-table.ts";

/** A verified purchase, and its token. */
export interface Predecessor {
  readonly purchaseToken: string;
  readonly verified: VerifiedPurchase;
}

/**
 * The purchase that a verified one names as its predecessor, where it is not stored: only it connects the two with a
 * customer. One look-up; null: none is unknown, or the store does not answer about it. Nothing waits for it.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2
 * `linkedPurchaseToken`
 */
export const unknownPredecessor = async (
  androidStore: Pick<AndroidStore, "lookUp">,
  configuration: AndroidStoreConfiguration,
  { purchase: { store, environment }, predecessors }: VerifiedPurchase,
  { purchases, erasedPurchases }: KnownFacts,
): Promise<Predecessor | null> => {
  const purchaseToken = predecessors.find((token) => {
    const reference = referenceText({ store, environment, key: purchaseKeyOfToken(token) });
    return !purchases.has(reference) && !erasedPurchases.has(reference);
  });
  if (purchaseToken === undefined) return null;
  const question = { purchaseToken, productKind: "subscription", productIdentifier: null } as const;
  const verified = await androidStore.lookUp(configuration, question);
  return verified.outcome === "verified" && configuration.environments.includes(verified.purchase.environment)
    ? { purchaseToken, verified }
    : null;
};
