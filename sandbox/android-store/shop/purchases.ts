import { randomBytes } from "node:crypto";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { PRODUCT_KINDS } from "../../../lib/contract/schemas.ts";
import {
  isoTime,
  parsePeriod,
  plusPeriod,
  type Instant,
  type Period,
} from "../../../lib/entitlements/time.ts";
import { acknowledgeBy, oneTimeTerms, period, subscriptionTerms } from "./terms.ts";

/** The store's purchases, in the API's own shapes. */

export type SubscriptionPurchase = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
export type SubscriptionLine = androidpublisher_v3.Schema$SubscriptionPurchaseLineItem;
export type OneTimePurchase = androidpublisher_v3.Schema$ProductPurchaseV2;

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

const soldSubscription = z
  .object({
    packageName: z.string(),
    productKind: z.literal("subscription"),
    answer: z.custom<SubscriptionPurchase>(isObject),
    /** Null: it was put as a raw answer, and never changes by itself. */
    terms: subscriptionTerms.readonly().nullable(),
  })
  .readonly();
const soldOneTimePurchase = z
  .object({
    packageName: z.string(),
    productKind: z.literal("one_time_product"),
    answer: z.custom<OneTimePurchase>(isObject),
    terms: oneTimeTerms.readonly().nullable(),
  })
  .readonly();

/** A purchase as the store and the data folder keep it. */
export const soldPurchase = z.union([soldSubscription, soldOneTimePurchase]);
export type SoldSubscription = z.output<typeof soldSubscription>;
export type SoldOneTimePurchase = z.output<typeof soldOneTimePurchase>;
export type SoldPurchase = SoldSubscription | SoldOneTimePurchase;

/** A purchase without its terms. */
export type StoredPurchase = Omit<SoldSubscription, "terms"> | Omit<SoldOneTimePurchase, "terms">;

const text = z.string().min(1);

/** Phases after a renewal whose payment fails, in this order. Null: left out. */
export const failedPaymentTerms = z.object({
  /** The subscription stays ACTIVE past its end while the store tries again: a day or two. */
  silentPeriod: period.nullable().optional(),
  gracePeriod: period.nullable().optional(),
  accountHold: period.nullable().optional(),
});

export const sandboxPurchase = z.object({
  packageName: text,
  productKind: z.enum(PRODUCT_KINDS),
  productIdentifier: text,
  /** Subscriptions only. */
  basePlanIdentifier: text.optional(),
  /** Time until a subscription ends or renews, now and at each renewal; default: one month. */
  period: period.optional(),
  /** Bought, but not paid yet. */
  pending: z.boolean().optional(),
  /** A subscription that does not renew automatically. */
  prepaid: z.boolean().optional(),
  /** Bought by a licence tester: the purchase's environment is sandbox. */
  test: z.boolean().optional(),
  obfuscatedAccountIdentifier: text.optional(),
  /** Unset: a new one. */
  orderIdentifier: text.optional(),
  /** Token of the subscription that this one replaces. */
  replaces: text.optional(),
  /** The replaced product stays until its end, and this one follows it. */
  deferred: z.boolean().optional(),
  /** Token of the expired subscription that was bought again outside the app. */
  resubscribes: text.optional(),
  /** One-time purchases only; default: 1. */
  quantity: z.int().positive().optional(),
  /** One-time purchases only. */
  purchaseOptionIdentifier: text.optional(),
  /** A one-time purchase that is rented. */
  rental: z.boolean().optional(),
  /** Subscriptions only; default: no silent period, three days of grace, thirty days on hold. */
  ...failedPaymentTerms.shape,
});

export type SandboxPurchase = z.input<typeof sandboxPurchase>;

export const ACKNOWLEDGEMENT_PENDING = "ACKNOWLEDGEMENT_STATE_PENDING";
export const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

export const periodOf = (duration: string): Period => {
  const parsed = parsePeriod(duration);
  if (parsed === null) throw new Error(`Not an ISO 8601 duration: ${duration}`);
  return parsed;
};

/** End of a duration that begins at the given time. */
export const after = (begin: Instant, duration: string): Instant => plusPeriod(begin, periodOf(duration));

export const orderId = (): string => `GPA.${randomBytes(8).toString("hex")}`;

export const isPrepaid = ({ lineItems }: SubscriptionPurchase): boolean =>
  lineItems?.some(({ prepaidPlan }) => prepaidPlan !== undefined) ?? false;

/** Latest end of the lines; null: no line has one. */
export const endOf = ({ lineItems }: SubscriptionPurchase): Instant | null => {
  const ends = (lineItems ?? []).flatMap(({ expiryTime }) =>
    expiryTime == null ? [] : [Date.parse(expiryTime)],
  );
  return ends.length === 0 ? null : Math.max(...ends);
};

/**
 * @param follows subscription whose product this one follows at its end; null: the product begins at once
 * @param paidFrom when the paid period begins: now, or the end of the prepaid plan that this one extends
 */
export const newSubscription = (
  purchase: SandboxPurchase,
  now: Instant,
  { follows, paidFrom }: { readonly follows: SubscriptionPurchase | null; readonly paidFrom: Instant },
): SoldSubscription => {
  const { pending = false, prepaid = false, period = "P1M", packageName } = purchase;
  const order = purchase.orderIdentifier ?? orderId();
  const end = follows === null ? after(paidFrom, period) : (endOf(follows) ?? now);
  const bought: SubscriptionLine = {
    productId: purchase.productIdentifier,
    ...(!pending && follows === null && { expiryTime: isoTime(end), latestSuccessfulOrderId: order }),
    ...(prepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: true } }),
    ...(purchase.basePlanIdentifier !== undefined && {
      offerDetails: { basePlanId: purchase.basePlanIdentifier },
    }),
  };
  const carriedOver = (follows?.lineItems ?? [])
    .filter(({ expiryTime }) => expiryTime != null && Date.parse(expiryTime) === end)
    .map((line) => ({
      ...line,
      autoRenewingPlan: { autoRenewEnabled: false },
      deferredItemReplacement: { productId: purchase.productIdentifier },
    }));
  return {
    packageName,
    productKind: "subscription",
    answer: {
      kind: "androidpublisher#subscriptionPurchaseV2",
      regionCode: "US",
      subscriptionState: pending ? "SUBSCRIPTION_STATE_PENDING" : "SUBSCRIPTION_STATE_ACTIVE",
      acknowledgementState: ACKNOWLEDGEMENT_PENDING,
      ...(!pending && { startTime: isoTime(now) }),
      ...(purchase.replaces !== undefined && { linkedPurchaseToken: purchase.replaces }),
      ...(purchase.resubscribes !== undefined && {
        outOfAppPurchaseContext: { expiredPurchaseToken: purchase.resubscribes },
      }),
      ...(purchase.obfuscatedAccountIdentifier !== undefined && {
        externalAccountIdentifiers: { obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier },
      }),
      ...(purchase.test === true && { testPurchase: {} }),
      lineItems: [...carriedOver, bought],
    },
    terms: {
      period,
      silentPeriod: purchase.silentPeriod ?? null,
      gracePeriod: purchase.gracePeriod === undefined ? "P3D" : purchase.gracePeriod,
      accountHold: purchase.accountHold === undefined ? "P30D" : purchase.accountHold,
      paymentFails: false,
      pause: null,
      paidUntil: pending ? null : end,
      stateUntil: null,
      orderedAt: pending ? null : now,
      acknowledgeBy: pending
        ? null
        : acknowledgeBy(now, {
            test: purchase.test === true,
            prepaidUntil: prepaid ? after(now, period) : null,
          }),
    },
  };
};

export const newOneTimePurchase = (purchase: SandboxPurchase, now: Instant): SoldOneTimePurchase => {
  const { pending = false, quantity = 1, packageName } = purchase;
  return {
    packageName,
    productKind: "one_time_product",
    answer: {
      kind: "androidpublisher#productPurchaseV2",
      regionCode: "US",
      purchaseStateContext: { purchaseState: pending ? "PENDING" : "PURCHASED" },
      acknowledgementState: ACKNOWLEDGEMENT_PENDING,
      ...(!pending && {
        orderId: purchase.orderIdentifier ?? orderId(),
        purchaseCompletionTime: isoTime(now),
      }),
      ...(purchase.obfuscatedAccountIdentifier !== undefined && {
        obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier,
      }),
      ...(purchase.test === true && { testPurchaseContext: { fopType: "TEST" } }),
      productLineItem: [
        {
          productId: purchase.productIdentifier,
          productOfferDetails: {
            ...(purchase.purchaseOptionIdentifier !== undefined && {
              purchaseOptionId: purchase.purchaseOptionIdentifier,
            }),
            ...(purchase.rental === true && { rentOfferDetails: {} }),
            quantity,
            refundableQuantity: quantity,
            consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
          },
        },
      ],
    },
    terms: {
      acknowledgeBy: pending
        ? null
        : acknowledgeBy(now, { test: purchase.test === true, prepaidUntil: null }),
    },
  };
};

export const productsOf = (stored: StoredPurchase): (string | null | undefined)[] =>
  stored.productKind === "subscription"
    ? (stored.answer.lineItems ?? []).map(({ productId }) => productId)
    : (stored.answer.productLineItem ?? []).map(({ productId }) => productId);

export const isPaid = (stored: StoredPurchase): boolean =>
  stored.productKind === "subscription"
    ? !/PENDING|EXPIRED/.test(stored.answer.subscriptionState ?? "")
    : stored.answer.purchaseStateContext?.purchaseState === "PURCHASED";

export const acknowledged = (sold: SoldPurchase): SoldPurchase => {
  if (sold.productKind === "one_time_product")
    return { ...sold, answer: { ...sold.answer, acknowledgementState: ACKNOWLEDGED } };
  const { outOfAppPurchaseContext: _, ...answer } = sold.answer;
  return { ...sold, answer: { ...answer, acknowledgementState: ACKNOWLEDGED } };
};
