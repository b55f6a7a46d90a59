import * as z from "zod/mini";
import { LIMITS, type ProductKind } from "../../contract/schemas.ts";
import { isOverAt, type Purchase } from "../../entitlements/purchase.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";

/** A Real-time Developer Notification: a hint to ask the store about a purchase. Its type decides no fact. */
export interface AndroidStoreNotification {
  readonly packageName: string;
  /** Google's type, for the log: `subscription 4`, `voided_purchase 1`, `test`. */
  readonly type: string;
  /** Time of the event, by Google's clock; null where it cannot be read. */
  readonly sentAt: Instant | null;
  /** State that an answer shows once it includes the event; null: the type does not tell. */
  readonly expects: Expectation | null;
  /** Null: the purchase or its kind is not named. */
  readonly purchase: { readonly purchaseToken: string; readonly productKind: ProductKind } | null;
  /** A refund that the developer may review; null: it is about something else. */
  readonly refundReview: RefundReview | null;
}

/**
 * State that Google's answer shows once it includes the notified event. `paid`: a line is; `no-access`: no line gives any;
 * `renewing`, `not-renewing`: the entitled lines do or do not; `other-items`: they changed, which one answer cannot show. Decides
 * no fact; only detects an answer that is older than its notification.
 */
export type Expectation = "paid" | "no-access" | "renewing" | "not-renewing" | "other-items";

/** By `notificationType`. @see https://developer.android.com/google/play/billing/rtdn-reference */
const EXPECTED_OF_SUBSCRIPTION: ReadonlyMap<number | undefined, Expectation> = new Map([
  [1, "paid"], // RECOVERED
  [2, "paid"], // RENEWED
  [3, "not-renewing"], // CANCELED
  [4, "paid"], // PURCHASED
  [5, "no-access"], // ON_HOLD
  [7, "renewing"], // RESTARTED
  [10, "no-access"], // PAUSED
  [12, "no-access"], // REVOKED
  [13, "no-access"], // EXPIRED
  [17, "other-items"], // ITEMS_CHANGED
]);
const EXPECTED_OF_ONE_TIME_PRODUCT: ReadonlyMap<number | undefined, Expectation> = new Map([
  [1, "paid"], // PURCHASED
  [2, "no-access"], // CANCELED: never paid, or revoked
]);

/** Whether an answer does not show the event of the notification that led to it, as far as it can be told. */
export const isBehind = (expects: Expectation, { lines }: Purchase): boolean => {
  const entitled = lines.filter(({ standing }) => standing === "entitled" || standing === "grace_period");
  switch (expects) {
    case "paid":
      return !lines.some(({ standing }) => standing === "entitled");
    case "no-access":
      // Google calls a prepaid plan active after its end, too.
      return entitled.some((line) => !isOverAt(line, line.verifiedAt));
    case "renewing":
      return !entitled.some(({ willRenew }) => willRenew === true);
    case "not-renewing":
      return entitled.length > 0 && entitled.every(({ willRenew }) => willRenew === true);
    case "other-items":
      return true;
  }
};

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
    voidedPurchaseNotification: lenient(z.object({ productType: typeNumber(), purchaseToken: storeToken() })),
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
    expects: null,
    refundReview: null,
  };
  if (subscription !== undefined)
    return {
      ...common,
      type: typeText("subscription", subscription.notificationType),
      expects: EXPECTED_OF_SUBSCRIPTION.get(subscription.notificationType) ?? null,
      purchase: purchaseOf(subscription.purchaseToken, "subscription"),
    };
  if (oneTimeProduct !== undefined)
    return {
      ...common,
      type: typeText("one_time_product", oneTimeProduct.notificationType),
      expects: EXPECTED_OF_ONE_TIME_PRODUCT.get(oneTimeProduct.notificationType) ?? null,
      purchase: purchaseOf(oneTimeProduct.purchaseToken, "one_time_product"),
    };
  if (voided !== undefined)
    return {
      ...common,
      type: typeText("voided_purchase", voided.productType),
      purchase: purchaseOf(voided.purchaseToken, VOIDED_KINDS.get(voided.productType)),
    };
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
