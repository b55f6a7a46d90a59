import * as z from "zod/mini";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { lenient } from "../lenient.ts";

/**
 * Schemas of the store's answers, with only the fields that are read. Unknown fields are ignored. An unknown state is
 * refused: its meaning for access cannot be guessed.
 */

/** RFC 3339, with up to nine fractional digits. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

const timestamp = once(() =>
  z.pipe(
    z.string(),
    z.transform((text, context): Instant => {
      const instant = TIMESTAMP.test(text) ? Date.parse(text) : Number.NaN;
      if (isInstant(instant)) return instant;
      context.issues.push({ code: "custom", message: "must be a time", input: text });
      return z.NEVER;
    }),
  ),
);

/** Limits what is stored or becomes part of a key, far above what Google documents (64 for account ids). */
const text = once(() =>
  z.string().check(
    z.minLength(1),
    z.maxLength(256),
    z.refine((value) => value.isWellFormed()),
  ),
);

/** Google omits unset fields; null and the empty string read the same. */
const orNull = <Schema extends z.ZodMiniType>(schema: Schema) =>
  z.pipe(
    z.nullish(
      z.union([
        schema,
        z.pipe(
          z.literal(""),
          z.transform(() => null),
        ),
      ]),
    ),
    z.transform((value) => value ?? null),
  );

export const SUBSCRIPTION_STATES = [
  "SUBSCRIPTION_STATE_PENDING",
  "SUBSCRIPTION_STATE_ACTIVE",
  "SUBSCRIPTION_STATE_PAUSED",
  "SUBSCRIPTION_STATE_IN_GRACE_PERIOD",
  "SUBSCRIPTION_STATE_ON_HOLD",
  "SUBSCRIPTION_STATE_CANCELED",
  "SUBSCRIPTION_STATE_EXPIRED",
  "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED",
  // The reference has no such state; the page on pending transactions of subscriptions names it where such a payment ran out.
  "SUBSCRIPTION_STATE_PENDING_PURCHASE_EXPIRED",
] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

const subscriptionLine = once(() =>
  z.object({
    productId: text(),
    expiryTime: orNull(timestamp()),
    latestSuccessfulOrderId: orNull(z.string().check(z.minLength(1))),
    offerDetails: orNull(z.object({ basePlanId: orNull(text()) })),
    autoRenewingPlan: orNull(z.object({ autoRenewEnabled: orNull(z.boolean()) })),
    prepaidPlan: orNull(z.object({})),
    deferredItemReplacement: orNull(z.object({ productId: orNull(z.string()) })),
    deferredItemRemoval: orNull(z.object({})),
  }),
);

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2 */
export const subscriptionAnswer = once(() =>
  z.object({
    subscriptionState: z.enum(SUBSCRIPTION_STATES),
    startTime: orNull(timestamp()),
    lineItems: orNull(z.array(subscriptionLine())),
    linkedPurchaseToken: orNull(z.string().check(z.minLength(1))),
    acknowledgementState: orNull(z.string().check(z.minLength(1))),
    outOfAppPurchaseContext: orNull(
      z.object({ expiredPurchaseToken: orNull(z.string().check(z.minLength(1))) }),
    ),
    testPurchase: orNull(z.object({})),
  }),
);

const oneTimeLine = once(() =>
  z.object({
    productId: text(),
    productOfferDetails: orNull(
      z.object({
        purchaseOptionId: orNull(text()),
        rentOfferDetails: orNull(z.object({})),
        quantity: orNull(z.int()),
        refundableQuantity: orNull(z.int()),
      }),
    ),
  }),
);

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2#ProductPurchaseV2 */
export const oneTimeProductAnswer = once(() =>
  z.object({
    purchaseStateContext: z.object({ purchaseState: z.enum(["PURCHASED", "CANCELLED", "PENDING"]) }),
    purchaseCompletionTime: orNull(timestamp()),
    productLineItem: z.array(oneTimeLine()).check(z.minLength(1)),
    acknowledgementState: orNull(z.string().check(z.minLength(1))),
    testPurchaseContext: orNull(z.object({})),
  }),
);

/** A time in milliseconds; an unreadable one loses no purchase of the list. */
const millisecondsOf = (text: unknown): Instant | null => {
  const time = typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : null;
  return isInstant(time) ? time : null;
};

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list */
export const voidedAnswer = once(() =>
  z.pipe(
    z.object({
      voidedPurchases: z.optional(
        z.array(
          z.object({
            purchaseToken: z.string().check(z.minLength(1)),
            voidedTimeMillis: z.optional(z.unknown()),
            // Only of a part of a quantity.
            voidedQuantity: z.optional(z.unknown()),
          }),
        ),
      ),
      tokenPagination: z.nullish(z.object({ nextPageToken: z.nullish(z.string()) })),
    }),
    z.transform(({ voidedPurchases = [], tokenPagination }) => ({
      voided: voidedPurchases.map(({ purchaseToken, voidedTimeMillis, voidedQuantity }) => ({
        purchaseToken,
        fullyVoidedAt: voidedQuantity === undefined ? millisecondsOf(voidedTimeMillis) : null,
      })),
      // The last page may name an empty one.
      next: tokenPagination?.nextPageToken || null,
    })),
  ),
);

/** Any other state, or none, says that the acknowledgement is due: one too many costs a request, one too few the purchase. */
export const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

/** Fields of a purchase of either kind; one of another form reads as absent. */
const purchaseAnswer = once(() =>
  z.object({
    acknowledgementState: lenient(z.string()),
    lineItems: lenient(z.array(z.object({ productId: text() }))),
    productLineItem: lenient(z.array(z.object({ productId: text() }))),
    externalAccountIdentifiers: lenient(z.object({ obfuscatedExternalAccountId: z.nullish(z.string()) })),
    obfuscatedExternalAccountId: lenient(z.string()),
  }),
);

export const saysAcknowledged = (body: unknown): boolean =>
  purchaseAnswer().safeParse(body).data?.acknowledgementState === ACKNOWLEDGED;

export const productsIn = (body: unknown): readonly string[] => {
  const { data } = purchaseAnswer().safeParse(body);
  return [...(data?.lineItems ?? []), ...(data?.productLineItem ?? [])].map(({ productId }) => productId);
};

/** The account id that the app gave to the store with the purchase of either kind; null: none. It proves nothing. */
export const accountIn = (body: unknown): string | null => {
  const { data } = purchaseAnswer().safeParse(body);
  const echoes = [
    data?.externalAccountIdentifiers?.obfuscatedExternalAccountId,
    data?.obfuscatedExternalAccountId,
  ];
  return echoes.find((echo) => echo) ?? null;
};

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders#Order */
export const ordersAnswer = once(() =>
  z.object({
    orders: z.optional(
      z.array(
        z.object({
          orderId: z.string(),
          purchaseToken: orNull(z.string()),
          lineItems: orNull(z.array(z.object({ subscriptionDetails: orNull(z.object({})) }))),
        }),
      ),
    ),
  }),
);
