import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { ChangeDetails } from "./changes.ts";
import {
  acknowledgeBy,
  ACKNOWLEDGEMENT_PENDING,
  after,
  endOf,
  instantOf,
  isPrepaid,
  orderId,
  type SandboxPurchase,
  type SoldOneTimePurchase,
  type SoldSubscription,
  type SubscriptionLine,
  type SubscriptionPurchase,
  outcome,
  type Outcome,
} from "./purchases.ts";
import { failedPaymentPhases, stateOf, tell } from "./subscription-states.ts";

/** Purchases as the store sells them. */

/**
 * @param follows subscription whose product this one follows at its end; null: the product begins at once
 * @param paidFrom when the paid period begins: now, or the end of the prepaid plan that this one extends
 */
const newSubscription = (
  purchase: SandboxPurchase,
  now: Instant,
  { follows, paidFrom }: { readonly follows: SubscriptionPurchase | null; readonly paidFrom: Instant },
): SoldSubscription => {
  const { pending = false, prepaid = false, test = false, period = "P1M", packageName } = purchase;
  const { silentPeriod = null, gracePeriod = "P3D", accountHold = "P30D" } = purchase;
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
    .filter(({ expiryTime }) => instantOf(expiryTime) === end)
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
      ...(purchase.obfuscatedAccountIdentifier !== undefined && {
        externalAccountIdentifiers: { obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier },
      }),
      ...(test && { testPurchase: {} }),
      lineItems: [...carriedOver, bought],
    },
    terms: {
      period,
      silentPeriod,
      gracePeriod,
      accountHold,
      paymentFails: false,
      pause: null,
      paidUntil: pending ? null : end,
      stateUntil: null,
      orderedAt: pending ? null : now,
      acknowledgeBy: pending
        ? null
        : acknowledgeBy(now, { test, prepaidUntil: prepaid ? after(now, period) : null }),
    },
  };
};

const newOneTimePurchase = (purchase: SandboxPurchase, now: Instant): SoldOneTimePurchase => {
  const { pending = false, test = false, quantity = 1, packageName } = purchase;
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
      ...(test && { testPurchaseContext: { fopType: "TEST" } }),
      productLineItem: [
        {
          productId: purchase.productIdentifier,
          productOfferDetails: {
            ...(purchase.purchaseOptionIdentifier !== undefined && {
              purchaseOptionId: purchase.purchaseOptionIdentifier,
            }),
            quantity,
            refundableQuantity: quantity,
            consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
          },
        },
      ],
    },
    terms: { acknowledgeBy: pending ? null : acknowledgeBy(now, { test, prepaidUntil: null }) },
  };
};

/**
 * @param replaced running subscription that this purchase replaces; null: none
 * @throws ImpossibleChange
 */
export const sold = (purchase: SandboxPurchase, at: Instant, replaced: SoldSubscription | null): Outcome => {
  const {
    productKind,
    productIdentifier: sku,
    pending = false,
    deferred = false,
    prepaid = false,
  } = purchase;
  if (productKind === "one_time_product") {
    const once = newOneTimePurchase(purchase, at);
    return pending ? outcome(once) : outcome(once, { oneTimeProduct: "PURCHASED", sku });
  }
  const end = replaced === null ? null : endOf(replaced.answer);
  const renews = replaced !== null && !isPrepaid(replaced.answer) && end !== null && end > at;
  if (deferred && (!renews || pending))
    throw new ImpossibleChange(
      "A deferred purchase replaces a subscription that renews, and is not pending.",
    );
  const isTopUp = prepaid && !pending && replaced !== null && isPrepaid(replaced.answer);
  const subscription = newSubscription(purchase, at, {
    follows: deferred && replaced !== null ? replaced.answer : null,
    paidFrom: isTopUp ? Math.max(end ?? at, at) : at,
  });
  return pending ? tell(subscription) : tell(subscription, "PURCHASED");
};

/**
 * The purchase that takes the place of another.
 *
 * @throws ImpossibleChange
 */
export const successorOf = (
  replaced: SoldSubscription | null,
  purchaseToken: string,
  change: "replace" | "upgrade" | "top-up",
  details: ChangeDetails,
): SandboxPurchase => {
  const terms = replaced?.terms;
  if (replaced === null || terms == null)
    throw new ImpossibleChange("Only a subscription that was sold here, and has not ended, can be replaced.");
  const { answer, packageName } = replaced;
  const line = answer.lineItems?.at(-1);
  const prepaid = change === "top-up";
  if (prepaid && (!isPrepaid(answer) || stateOf(replaced) !== "ACTIVE" || details.pending === true))
    throw new ImpossibleChange("A top-up extends a prepaid plan that has not ended, and is paid at once.");
  const { productIdentifier = line?.productId ?? "", pending = false, deferred = false } = details;
  const { basePlanIdentifier = line?.offerDetails?.basePlanId } = details;
  const account = answer.externalAccountIdentifiers?.obfuscatedExternalAccountId;
  return {
    packageName,
    productKind: "subscription",
    productIdentifier,
    replaces: purchaseToken,
    period: details.period ?? terms.period,
    ...failedPaymentPhases(terms, details),
    prepaid,
    pending,
    deferred,
    test: answer.testPurchase !== undefined,
    ...(basePlanIdentifier != null && { basePlanIdentifier }),
    ...(account != null && { obfuscatedAccountIdentifier: account }),
  };
};
