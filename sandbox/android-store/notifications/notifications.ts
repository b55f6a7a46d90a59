import type { Instant } from "../../../lib/entitlements/time.ts";

/** @see https://developer.android.com/google/play/billing/rtdn-reference */
export const SUBSCRIPTION_NOTIFICATIONS = {
  RECOVERED: 1,
  RENEWED: 2,
  CANCELED: 3,
  PURCHASED: 4,
  ON_HOLD: 5,
  IN_GRACE_PERIOD: 6,
  RESTARTED: 7,
  DEFERRED: 9,
  PAUSED: 10,
  PAUSE_SCHEDULE_CHANGED: 11,
  REVOKED: 12,
  EXPIRED: 13,
  ITEMS_CHANGED: 17,
  PENDING_PURCHASE_CANCELED: 20,
} as const;
export type SubscriptionNotification = keyof typeof SUBSCRIPTION_NOTIFICATIONS;

/** CANCELED is about a pending purchase; a refund is notified as a voided purchase. */
export const ONE_TIME_PRODUCT_NOTIFICATIONS = { PURCHASED: 1, CANCELED: 2 } as const;

const PRODUCT_TYPES = { subscription: 1, one_time_product: 2 } as const;
const REFUND_TYPES = { full: 1, quantityBasedPartial: 2 } as const;

/** Reason of a pending review; a chargeback, as in the voided purchases' reasons. */
const CHARGEBACK = 7;

/** Content of a notification, besides the purchase and the time. */
export type Notice =
  | { readonly subscription: SubscriptionNotification }
  | { readonly oneTimeProduct: keyof typeof ONE_TIME_PRODUCT_NOTIFICATIONS; readonly sku: string }
  | {
      readonly voided: keyof typeof PRODUCT_TYPES;
      readonly orderId: string;
      readonly refund: keyof typeof REFUND_TYPES;
    }
  | { readonly refundReview: string; readonly orderId: string };

const contentOf = (notice: Notice, purchaseToken: string) => {
  const version = "1.0";
  if ("subscription" in notice) {
    const notificationType = SUBSCRIPTION_NOTIFICATIONS[notice.subscription];
    return { subscriptionNotification: { version, notificationType, purchaseToken } };
  }
  if ("oneTimeProduct" in notice) {
    const notificationType = ONE_TIME_PRODUCT_NOTIFICATIONS[notice.oneTimeProduct];
    return { oneTimeProductNotification: { version, notificationType, purchaseToken, sku: notice.sku } };
  }
  const { orderId } = notice;
  if ("voided" in notice) {
    const [productType, refundType] = [PRODUCT_TYPES[notice.voided], REFUND_TYPES[notice.refund]];
    return { voidedPurchaseNotification: { purchaseToken, orderId, productType, refundType } };
  }
  const { refundReview: pendingRefundToken } = notice;
  const review = { version, pendingRefundToken, orderId, refundReason: CHARGEBACK };
  return { pendingRefundReviewNotification: review };
};

export type DeveloperNotification = ReturnType<typeof developerNotification>;

export const developerNotification = (
  packageName: string,
  purchaseToken: string,
  notice: Notice,
  at: Instant,
) => ({
  version: "1.0",
  packageName,
  eventTimeMillis: String(at),
  ...contentOf(notice, purchaseToken),
});
