import * as z from "zod/mini";
import { LIMITS } from "../../contract/schema-parts.ts";
import type { ProductKind } from "../../contract/schemas.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";

/** A Real-time Developer Notification: a hint to ask the store about a purchase. Its type decides no fact, except `fullyVoidedAt`. */
export interface AndroidStoreNotification {
  readonly packageName: string;
  /** Google's type, for the log: `subscription 4`, `voided_purchase 1`, `test`. */
  readonly type: string;
  /** Time of the event, by Google's clock; null where it cannot be read. */
  readonly sentAt: Instant | null;
  /** Null: the purchase or its kind is not named. */
  readonly purchase: { readonly purchaseToken: string; readonly productKind: ProductKind } | null;
  /** Time at which all of a one-time purchase was voided; null: it was not. */
  readonly fullyVoidedAt: Instant | null;
  /** A refund that the developer may review; null: it is about something else. */
  readonly refundReview: RefundReview | null;
}

/**
 * A pending refund that the developer may review. Null fields: not named.
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/reviewrefund
 */
export interface RefundReview {
  /** Token for `orders.reviewrefund`; not a purchase token. */
  readonly pendingRefundToken: string | null;
  readonly orderIdentifier: string | null;
  /** Google's number, as text. */
  readonly reason: string | null;
  /** Not documented; read if present. */
  readonly purchaseToken: string | null;
}

/** Reads a field of another type as absent, so that a new form of it does not lose the others. */
const lenient = <Schema extends z.ZodMiniType>(schema: Schema) =>
  z.union([
    z.optional(schema),
    z.pipe(
      z.unknown(),
      z.transform(() => undefined),
    ),
  ]);

/** An order's identifier has some 30 characters. */
const LONGEST_ORDER = 256;

const text = (longest: number) => z.string().check(z.minLength(1), z.maxLength(longest));
const typeNumber = once(() => lenient(z.int().check(z.gte(0), z.lte(9_999))));
const storeToken = once(() => lenient(text(LIMITS.purchaseTokenCharacters)));

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
    pendingRefundReviewNotification: lenient(
      z.object({
        pendingRefundToken: storeToken(),
        orderId: lenient(text(LONGEST_ORDER)),
        refundReason: typeNumber(),
        purchaseToken: storeToken(),
      }),
    ),
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

const purchaseOf = (
  token: string | undefined,
  productKind: ProductKind | undefined,
): AndroidStoreNotification["purchase"] =>
  token === undefined || productKind === undefined ? null : { purchaseToken: token, productKind };

const typeText = (member: string, type: number | undefined): string =>
  type === undefined ? member : `${member} ${type}`;

/**
 * Reads the `data` of a push: JSON in base64. Unknown members and types are tolerated.
 *
 * @returns null where it cannot be decoded or names no package
 */
export const readNotification = (data: string): AndroidStoreNotification | null => {
  const parsed = developerNotification().safeParse(parseJson(data));
  if (!parsed.success) return null;
  const {
    packageName,
    eventTimeMillis,
    subscriptionNotification: subscription,
    oneTimeProductNotification: oneTimeProduct,
    voidedPurchaseNotification: voided,
    pendingRefundReviewNotification: review,
  } = parsed.data;
  const sentAt = eventTimeMillis === undefined ? null : Number(eventTimeMillis);
  const common = {
    packageName,
    sentAt: isInstant(sentAt) ? sentAt : null,
    fullyVoidedAt: null,
    refundReview: null,
  };
  if (subscription !== undefined)
    return {
      ...common,
      type: typeText("subscription", subscription.notificationType),
      purchase: purchaseOf(subscription.purchaseToken, "subscription"),
    };
  if (oneTimeProduct !== undefined)
    return {
      ...common,
      type: typeText("one_time_product", oneTimeProduct.notificationType),
      purchase: purchaseOf(oneTimeProduct.purchaseToken, "one_time_product"),
    };
  if (voided !== undefined) {
    const productKind = VOIDED_KINDS.get(voided.productType);
    const isFull = productKind === "one_time_product" && voided.refundType === FULL_REFUND;
    return {
      ...common,
      type: typeText("voided_purchase", voided.productType),
      purchase: purchaseOf(voided.purchaseToken, productKind),
      fullyVoidedAt: isFull ? common.sentAt : null,
    };
  }
  if (review !== undefined)
    return {
      ...common,
      type: "pending_refund_review",
      purchase: null,
      refundReview: {
        pendingRefundToken: review.pendingRefundToken ?? null,
        orderIdentifier: review.orderId ?? null,
        reason: review.refundReason === undefined ? null : String(review.refundReason),
        purchaseToken: review.purchaseToken ?? null,
      },
    };
  return {
    ...common,
    type: parsed.data.testNotification === undefined ? "unknown" : "test",
    purchase: null,
  };
};
