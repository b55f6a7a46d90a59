import type { Instant } from "../../../lib/entitlements/time.ts";
import { OFFER_CODE } from "./app-store.ts";
import { endOf, latestOf, type Account, type Lineage, type Subscription } from "./lineage.ts";

/** Apple's `expirationIntent` of a charge that failed. */
const BILLING_ERROR = 2;

/** Fields that describe a problem with the renewal. If there is none, Apple writes none of them. */
const troubleOf = ({ standing, hidesGraceEnd = false }: Subscription) => {
  switch (standing.kind) {
    case "active":
      return {};
    case "grace":
      return {
        expirationIntent: BILLING_ERROR,
        isInBillingRetryPeriod: true,
        ...(!hidesGraceEnd && { gracePeriodExpiresDate: standing.endsAt }),
      };
    case "retry":
      return { expirationIntent: BILLING_ERROR, isInBillingRetryPeriod: true };
    case "expired":
      return { expirationIntent: standing.intent, isInBillingRetryPeriod: false };
    case "revoked":
      return { isInBillingRetryPeriod: false };
  }
};

/**
 * Payload of a subscription's renewal info, as the App Store signs it.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
 */
export const renewalInfoPayload = (
  { environment, appTransactionIdentifier }: Account,
  lineage: Lineage,
  subscription: Subscription,
  signedDate: Instant,
) => ({
  originalTransactionId: lineage.originalTransactionIdentifier,
  productId: latestOf(lineage).productIdentifier,
  autoRenewProductId: subscription.next.productIdentifier,
  autoRenewStatus: subscription.autoRenews ? 1 : 0,
  ...(subscription.autoRenews && { renewalPrice: 4990, currency: "USD" }),
  ...troubleOf(subscription),
  ...(subscription.priceIncrease !== null && {
    priceIncreaseStatus: subscription.priceIncrease === "agreed" ? 1 : 0,
  }),
  ...(subscription.offerIdentifier !== null && {
    offerType: OFFER_CODE,
    offerIdentifier: subscription.offerIdentifier,
  }),
  signedDate,
  environment,
  recentSubscriptionStartDate: subscription.servedSince,
  renewalDate: endOf(lineage),
  ...(lineage.appAccountToken !== null && { appAccountToken: lineage.appAccountToken }),
  ...(appTransactionIdentifier !== null && { appTransactionId: appTransactionIdentifier }),
});

/**
 * Apple's status of a subscription.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/status
 */
export const STATUSES = { active: 1, expired: 2, retry: 3, grace: 4, revoked: 5 } as const satisfies Record<
  Subscription["standing"]["kind"],
  number
>;
