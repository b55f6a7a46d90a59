import * as z from "zod/mini";
import { LIMITS, type ProductKind } from "../../contract/schemas.ts";
import type { StoreRequest } from "../../contract/messages.ts";
import { DAY } from "../../duration.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { lenient } from "../lenient.ts";
import { purchasesOfToken } from "./reading.ts";

/** An order's identifier has some 30 characters. */
const LONGEST_ORDER = 256;

const text = (longest: number) => z.string().check(z.minLength(1), z.maxLength(longest));
const typeNumber = once(() => lenient(z.int().check(z.gte(0), z.lte(9_999))));
const storeToken = once(() => lenient(text(LIMITS.purchaseTokenCharacters)));

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/reviewrefund */
const refundReview = once(() =>
  z.object({
    /** Token for `orders.reviewrefund`; not a purchase token. */
    pendingRefundToken: storeToken(),
    orderId: lenient(text(LONGEST_ORDER)),
    refundReason: typeNumber(),
    /** Not documented; read if present. */
    purchaseToken: storeToken(),
  }),
);

/** @see https://developer.android.com/google/play/billing/rtdn-reference */
const developerNotification = once(() =>
  z.object({
    packageName: text(LIMITS.packageNameCharacters),
    eventTimeMillis: lenient(z.string().check(z.regex(/^\d{1,15}$/))),
    subscriptionNotification: lenient(
      z.object({ notificationType: typeNumber(), purchaseToken: storeToken() }),
    ),
    oneTimeProductNotification: lenient(
      z.object({ notificationType: typeNumber(), purchaseToken: storeToken() }),
    ),
    // Its order is not read: it may be one renewal of many.
    voidedPurchaseNotification: lenient(
      z.object({ productType: typeNumber(), refundType: typeNumber(), purchaseToken: storeToken() }),
    ),
    pendingRefundReviewNotification: lenient(refundReview()),
    testNotification: lenient(z.object({})),
  }),
);

/** Product kinds by the `productType` of a voided purchase. */
const VOIDED_KINDS: ReadonlyMap<number | undefined, ProductKind> = new Map([
  [1, "subscription"],
  [2, "one_time_product"],
]);

/** `refundType` of a void that is not of a part of a quantity. */
const FULL_REFUND = 1;

const parseJson = (data: string): unknown => {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(data, "base64")));
  } catch {
    return undefined;
  }
};

type Notified = z.output<ReturnType<typeof developerNotification>>;

interface Subject {
  /** Google's type, for the log: `subscription 4`, `voided_purchase 1`, `test`. */
  readonly type: string;
  /** Null: the purchase or its kind is not named. */
  readonly purchase: { readonly purchaseToken: string; readonly productKind: ProductKind } | null;
}

const about = (
  member: string,
  type: number | undefined,
  purchaseToken: string | undefined,
  productKind: ProductKind | undefined,
): Subject => ({
  type: type === undefined ? member : `${member} ${type}`,
  purchase: purchaseToken === undefined || productKind === undefined ? null : { purchaseToken, productKind },
});

const subjectOf = (notified: Notified): Subject => {
  const { subscriptionNotification: subscription, oneTimeProductNotification: oneTime } = notified;
  const { voidedPurchaseNotification: voided } = notified;
  if (subscription !== undefined)
    return about("subscription", subscription.notificationType, subscription.purchaseToken, "subscription");
  if (oneTime !== undefined)
    return about("one_time_product", oneTime.notificationType, oneTime.purchaseToken, "one_time_product");
  if (voided !== undefined) {
    const { productType, purchaseToken } = voided;
    return about("voided_purchase", productType, purchaseToken, VOIDED_KINDS.get(productType));
  }
  if (notified.pendingRefundReviewNotification !== undefined)
    return { type: "pending_refund_review", purchase: null };
  return { type: notified.testNotification === undefined ? "unknown" : "test", purchase: null };
};

/**
 * Reads the `data` of a push, JSON in base64: a Real-time Developer Notification, which is a hint to ask the store about a
 * purchase. Its type decides no fact, except `fullyVoidedAt`. Unknown members and types are tolerated.
 *
 * @returns null where it cannot be decoded or names no package
 */
export const readNotification = (data: string) => {
  const { data: notified } = developerNotification().safeParse(parseJson(data));
  if (notified === undefined) return null;
  const { packageName, eventTimeMillis, voidedPurchaseNotification: voided } = notified;
  const time = Number(eventTimeMillis);
  const sentAt = isInstant(time) ? time : null;
  const isFullVoid =
    VOIDED_KINDS.get(voided?.productType) === "one_time_product" && voided?.refundType === FULL_REFUND;
  return {
    packageName,
    /** Time of the event, by Google's clock; null where it cannot be read. */
    sentAt,
    ...subjectOf(notified),
    /** Time at which all of a one-time purchase was voided; null: it was not. */
    fullyVoidedAt: isFullVoid ? sentAt : null,
    /** A refund that the developer may review; null: it is about something else. */
    refundReview: notified.pendingRefundReviewNotification ?? null,
  };
};
export type AndroidStoreNotification = NonNullable<ReturnType<typeof readNotification>>;

/**
 * A notification's question to the developer, and the purchases that it may be about; null: no question, or one that
 * cannot be answered. `moment` is now: Google's clock may be ahead.
 */
export const questionIn = (
  { packageName, sentAt, refundReview }: AndroidStoreNotification,
  moment: Instant,
) => {
  if (refundReview === null) return null;
  const { pendingRefundToken, orderId, refundReason, purchaseToken } = refundReview;
  if (pendingRefundToken === undefined && orderId === undefined) return null;
  const askedAt = Math.min(sentAt ?? moment, moment);
  const unnamed = ["", orderId ?? "", String(sentAt)];
  return {
    question: {
      names: [
        "android-store",
        packageName,
        ...(pendingRefundToken === undefined ? unnamed : [pendingRefundToken]),
      ],
      askedAt,
      // Google accepts the review of a refund for a day (RTDN reference).
      answerBy: sentAt === null ? null : askedAt + DAY,
      content: {
        store: "android-store",
        kind: "pendingRefundReviewNotification",
        productIdentifier: null,
        transactionIdentifier: null,
        packageName,
        ...(orderId !== undefined && { orderIdentifier: orderId }),
        ...(pendingRefundToken !== undefined && { pendingRefundToken }),
        ...(refundReason !== undefined && { reason: String(refundReason) }),
      } satisfies Partial<StoreRequest>,
    },
    purchases: purchaseToken === undefined ? [] : purchasesOfToken(purchaseToken),
  };
};
