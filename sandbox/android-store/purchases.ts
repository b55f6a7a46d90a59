import { randomBytes } from "node:crypto";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { PRODUCT_KINDS } from "../../lib/contract/schemas.ts";
import { isoTime, parsePeriod, plusPeriod, type Instant, type Period } from "../../lib/entitlements/time.ts";

/** The store's purchases, in the API's own shapes. */

export type SubscriptionPurchase = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
export type OneTimePurchase = androidpublisher_v3.Schema$ProductPurchaseV2;

export type StoredPurchase = { readonly packageName: string } & (
  | { readonly productKind: "subscription"; readonly answer: SubscriptionPurchase }
  | { readonly productKind: "one_time_product"; readonly answer: OneTimePurchase }
);

const text = z.string().min(1);
export const period = text.refine((value) => parsePeriod(value) !== null, {
  message: "must be an ISO 8601 duration",
});

export const sandboxPurchase = z.object({
  packageName: text,
  productKind: z.enum(PRODUCT_KINDS),
  productIdentifier: text,
  /** Subscriptions only. */
  basePlanIdentifier: text.optional(),
  /** Time from now until a subscription ends or renews; default: one month. */
  period: period.optional(),
  /** Bought, but not paid yet. */
  pending: z.boolean().optional(),
  /** A subscription that does not renew automatically. */
  prepaid: z.boolean().optional(),
  /** Bought by a licence tester: the purchase's environment is sandbox. */
  test: z.boolean().optional(),
  obfuscatedAccountIdentifier: text.optional(),
  /** Token of the subscription that this one replaces. */
  replaces: text.optional(),
  /** Token of the expired subscription that was bought again outside the app. */
  resubscribes: text.optional(),
  /** One-time purchases only; default: 1. */
  quantity: z.int().positive().optional(),
});

export type SandboxPurchase = z.input<typeof sandboxPurchase>;

const ACKNOWLEDGEMENT_PENDING = "ACKNOWLEDGEMENT_STATE_PENDING";
export const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

export const periodOf = (duration: string): Period => {
  const parsed = parsePeriod(duration);
  if (parsed === null) throw new Error(`Not an ISO 8601 duration: ${duration}`);
  return parsed;
};

export const orderId = (): string => `GPA.${randomBytes(8).toString("hex")}`;

export const newSubscription = (purchase: SandboxPurchase, now: Instant): SubscriptionPurchase => {
  const { pending = false, prepaid = false, period = "P1M" } = purchase;
  return {
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
    lineItems: [
      {
        productId: purchase.productIdentifier,
        ...(!pending && {
          expiryTime: isoTime(plusPeriod(now, periodOf(period))),
          latestSuccessfulOrderId: orderId(),
        }),
        ...(prepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: true } }),
        ...(purchase.basePlanIdentifier !== undefined && {
          offerDetails: { basePlanId: purchase.basePlanIdentifier },
        }),
      },
    ],
  };
};

export const newOneTimePurchase = (purchase: SandboxPurchase, now: Instant): OneTimePurchase => {
  const { pending = false, quantity = 1 } = purchase;
  return {
    kind: "androidpublisher#productPurchaseV2",
    regionCode: "US",
    purchaseStateContext: { purchaseState: pending ? "PENDING" : "PURCHASED" },
    acknowledgementState: ACKNOWLEDGEMENT_PENDING,
    ...(!pending && { orderId: orderId(), purchaseCompletionTime: isoTime(now) }),
    ...(purchase.obfuscatedAccountIdentifier !== undefined && {
      obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier,
    }),
    ...(purchase.test === true && { testPurchaseContext: { fopType: "TEST" } }),
    productLineItem: [
      {
        productId: purchase.productIdentifier,
        productOfferDetails: {
          quantity,
          refundableQuantity: quantity,
          consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
        },
      },
    ],
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

export const acknowledged = (stored: StoredPurchase): StoredPurchase => {
  if (stored.productKind === "one_time_product")
    return { ...stored, answer: { ...stored.answer, acknowledgementState: ACKNOWLEDGED } };
  const { outOfAppPurchaseContext: _, ...answer } = stored.answer;
  return { ...stored, answer: { ...answer, acknowledgementState: ACKNOWLEDGED } };
};
