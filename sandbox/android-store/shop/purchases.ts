import { randomBytes } from "node:crypto";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { PRODUCT_KINDS } from "../../../lib/contract/schemas.ts";
import { DAY, MINUTE } from "../../../lib/duration.ts";
import { parsePeriod, plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { instant, readonlyObject } from "../../fields.ts";
import type { Notice } from "../notifications.ts";

/** The store's purchases, in the API's own shapes. */

export type SubscriptionPurchase = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
export type SubscriptionLine = androidpublisher_v3.Schema$SubscriptionPurchaseLineItem;
type OneTimePurchase = androidpublisher_v3.Schema$ProductPurchaseV2;

/** An ISO 8601 duration. */
export const period = z
  .string()
  .min(1)
  .refine((value) => parsePeriod(value) !== null, { message: "must be an ISO 8601 duration" });

/** Terms of a purchase that the API's answer does not show: its events as time passes. */
const oneTimeTerms = z.object({
  /** The store refunds the purchase at this time unless it is acknowledged; null: it is not paid yet. */
  acknowledgeBy: instant.nullable(),
});
const subscriptionTerms = oneTimeTerms.extend({
  /** Length of a paid period. */
  period,
  /** After a failed payment, in this order; null: left out. */
  silentPeriod: period.nullable(),
  gracePeriod: period.nullable(),
  accountHold: period.nullable(),
  /** Whether payments fail from now on. */
  paymentFails: z.boolean(),
  /** Length of the pause that begins at the end of the period; null: none is scheduled. */
  pause: period.nullable(),
  /** End of the paid period, which a grace period does not move; null: nothing is paid yet. */
  paidUntil: instant.nullable(),
  /** End of a state that the answer gives no end for: silent period, hold, expired; null: another state. */
  stateUntil: instant.nullable(),
  /** When the latest order was paid; null: none was. */
  orderedAt: instant.nullable(),
});
export type SubscriptionTerms = Readonly<z.output<typeof subscriptionTerms>>;

export const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

const soldSubscription = readonlyObject({
  packageName: z.string(),
  productKind: z.literal("subscription"),
  answer: z.custom<SubscriptionPurchase>(isObject),
  /** Null: it was put as a raw answer, and never changes by itself. */
  terms: subscriptionTerms.nullable(),
});
const soldOneTimePurchase = readonlyObject({
  packageName: z.string(),
  productKind: z.literal("one_time_product"),
  answer: z.custom<OneTimePurchase>(isObject),
  terms: oneTimeTerms.nullable(),
});

/** A purchase as the store and the data folder keep it. */
export const soldPurchase = z.union([soldSubscription, soldOneTimePurchase]);
export type SoldSubscription = z.output<typeof soldSubscription>;
export type SoldOneTimePurchase = z.output<typeof soldOneTimePurchase>;
export type SoldPurchase = SoldSubscription | SoldOneTimePurchase;

/** A purchase without its terms. */
export type StoredPurchase = Omit<SoldSubscription, "terms"> | Omit<SoldOneTimePurchase, "terms">;

export const voidedPurchase = readonlyObject({
  packageName: z.string(),
  purchaseToken: z.string(),
  productKind: z.enum(PRODUCT_KINDS),
  voidedAt: z.int(),
  /** Time at which the store's systems list it; absent: when it was voided. */
  seenAt: z.int().optional(),
  orderId: z.string(),
  orderedAt: z.int(),
  /** Who refunded it, and why. */
  by: z.enum(["user", "developer", "google"]),
  for: z.enum(["other", "chargeback", "unacknowledged"]),
  /** Refunded part of a quantity; null: all of it. */
  quantity: z.int().nullable(),
});

export type VoidedPurchase = z.output<typeof voidedPurchase>;

export type VoidedOrder = Pick<VoidedPurchase, "orderId" | "orderedAt" | "by" | "for" | "quantity">;

export const ACKNOWLEDGEMENT_PENDING = "ACKNOWLEDGEMENT_STATE_PENDING";
export const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

export const after = (begin: Instant, duration: string): Instant => {
  const parsed = parsePeriod(duration);
  if (parsed === null) throw new Error(`Not an ISO 8601 duration: ${duration}`);
  return plusPeriod(begin, parsed);
};

export const instantOf = (time: string | null | undefined): Instant | null =>
  time == null ? null : Date.parse(time);

export const orderId = (): string => `GPA.${randomBytes(8).toString("hex")}`;

export const isPrepaid = ({ lineItems }: SubscriptionPurchase): boolean =>
  lineItems?.some(({ prepaidPlan }) => prepaidPlan !== undefined) ?? false;

/** Latest end of the lines; null: no line has one. */
export const endOf = ({ lineItems }: SubscriptionPurchase): Instant | null => {
  const ends = (lineItems ?? []).flatMap(({ expiryTime }) => instantOf(expiryTime) ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
};

/**
 * Time within which a purchase must be acknowledged, and that of a licence tester. For test subscriptions the page also
 * says five minutes.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 * @see https://developer.android.com/google/play/billing/test
 */
const ACKNOWLEDGEMENT = { paid: 3 * DAY, test: 3 * MINUTE };

/** Prepaid plans shorter than this must be acknowledged within half of the plan. */
const SHORT_PLAN = 7 * DAY;

/**
 * @param prepaidUntil end of what was bought, of a prepaid plan; null: another purchase
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#prepaid-plans
 */
export const acknowledgeBy = (
  paidAt: Instant,
  { test, prepaidUntil }: { readonly test: boolean; readonly prepaidUntil: Instant | null },
): Instant => {
  const usual = test ? ACKNOWLEDGEMENT.test : ACKNOWLEDGEMENT.paid;
  const plan = prepaidUntil === null ? Infinity : prepaidUntil - paidAt;
  return paidAt + (plan < SHORT_PLAN ? Math.min(usual, Math.floor(plan / 2)) : usual);
};

export const productsOf = ({ productKind, answer }: StoredPurchase): (string | null | undefined)[] =>
  ((productKind === "subscription" ? answer.lineItems : answer.productLineItem) ?? []).map(
    ({ productId }) => productId,
  );

export const skuOf = ({ answer }: SoldOneTimePurchase): string =>
  answer.productLineItem?.[0]?.productId ?? "";

export const isPaid = (stored: StoredPurchase): boolean =>
  stored.productKind === "subscription"
    ? !/PENDING|EXPIRED/.test(stored.answer.subscriptionState ?? "")
    : stored.answer.purchaseStateContext?.purchaseState === "PURCHASED";

export const withAnswer = <Sold extends SoldPurchase>(sold: Sold, fields: Partial<Sold["answer"]>): Sold => ({
  ...sold,
  answer: { ...sold.answer, ...fields },
});

export const withPurchaseState = (sold: SoldOneTimePurchase, purchaseState: "PURCHASED" | "CANCELLED") =>
  withAnswer(sold, { purchaseStateContext: { purchaseState } });

export const withOffer = (
  sold: SoldOneTimePurchase,
  details: androidpublisher_v3.Schema$ProductOfferDetails,
): SoldOneTimePurchase => {
  const productLineItem = (sold.answer.productLineItem ?? []).map((line) => ({
    ...line,
    productOfferDetails: { ...line.productOfferDetails, ...details },
  }));
  return withAnswer(sold, { productLineItem });
};

/** A purchase after a change or after some time. */
export interface Outcome {
  readonly sold: SoldPurchase;
  readonly notices: readonly Notice[];
  /** Order that is voided; null: none is. */
  readonly voided: VoidedOrder | null;
}

export const outcome = (sold: SoldPurchase, ...notices: Notice[]): Outcome => ({
  sold,
  notices,
  voided: null,
});
