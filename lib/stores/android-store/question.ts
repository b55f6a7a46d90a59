import type { StoreRequest } from "../../contract/store-request.ts";
import { DAY } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AndroidStoreNotification } from "./notification.ts";
import { purchasesOfToken } from "./purchase-token.ts";

/**
 * Time within which Google accepts the review of a refund.
 *
 * @see https://developer.android.com/google/play/billing/rtdn-reference
 */
const REVIEWED_WITHIN_MILLISECONDS = DAY;

/** Name of the notification's member. */
const REFUND_REVIEW = "pendingRefundReviewNotification";

/**
 * A notification's question to the developer, and the purchases that it may be about; null: no question, or one that
 * cannot be answered.
 *
 * @param moment the present: Google's clock may be ahead
 */
export const questionIn = (
  { packageName, sentAt, refundReview }: AndroidStoreNotification,
  moment: Instant,
) => {
  if (refundReview === null) return null;
  const { pendingRefundToken, orderIdentifier, reason, purchaseToken } = refundReview;
  if (pendingRefundToken === null && orderIdentifier === null) return null;
  const askedAt = Math.min(sentAt ?? moment, moment);
  return {
    question: {
      names: [
        "android-store",
        packageName,
        ...(pendingRefundToken === null ? ["", orderIdentifier ?? "", String(sentAt)] : [pendingRefundToken]),
      ],
      askedAt,
      answerBy: sentAt === null ? null : askedAt + REVIEWED_WITHIN_MILLISECONDS,
      content: {
        store: "android-store",
        kind: REFUND_REVIEW,
        productIdentifier: null,
        transactionIdentifier: null,
        packageName,
        ...(orderIdentifier !== null && { orderIdentifier }),
        ...(pendingRefundToken !== null && { pendingRefundToken }),
        ...(reason !== null && { reason }),
      } satisfies Partial<StoreRequest>,
    },
    purchases: purchaseToken === null ? [] : purchasesOfToken(purchaseToken),
  };
};
