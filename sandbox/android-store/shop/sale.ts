import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import {
  acknowledgeBy,
  ACKNOWLEDGEMENT_PENDING,
  after,
  endOf,
  instantOf,
  isPrepaid,
  orderId,
  outcome,
  skuOf,
  withAnswer,
  withPurchaseState,
  type Outcome,
  type SoldOneTimePurchase,
  type SoldSubscription,
  type SubscriptionLine,
  type SubscriptionPurchase,
} from "./purchases.ts";
import { sandboxPurchase, type ChangeDetails, type WantedPurchase } from "./requests.ts";
import { active, failedPaymentPhases, periodFrom, stateOf, tell, withTerms } from "./subscription-states.ts";

/** Purchases as the store sells them. A paid one is a pending one that was completed. */

/** A subscription that awaits its payment. */
const newSubscription = (purchase: WantedPurchase): SoldSubscription => {
  const { packageName, productIdentifier, basePlanIdentifier, replaces, resubscribes } = purchase;
  const { period, silentPeriod, gracePeriod, accountHold } = purchase;
  const account = purchase.obfuscatedAccountIdentifier;
  const line: SubscriptionLine = {
    productId: productIdentifier,
    ...(purchase.prepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: true } }),
    ...(basePlanIdentifier !== undefined && { offerDetails: { basePlanId: basePlanIdentifier } }),
  };
  return {
    packageName,
    productKind: "subscription",
    answer: {
      kind: "androidpublisher#subscriptionPurchaseV2",
      regionCode: "US",
      subscriptionState: "SUBSCRIPTION_STATE_PENDING",
      acknowledgementState: ACKNOWLEDGEMENT_PENDING,
      ...(replaces !== undefined && { linkedPurchaseToken: replaces }),
      ...(resubscribes !== undefined && { outOfAppPurchaseContext: { expiredPurchaseToken: resubscribes } }),
      ...(account !== undefined && { externalAccountIdentifiers: { obfuscatedExternalAccountId: account } }),
      ...(purchase.test && { testPurchase: {} }),
      lineItems: [line],
    },
    terms: {
      period,
      silentPeriod,
      gracePeriod,
      accountHold,
      paymentFails: false,
      pause: null,
      paidUntil: null,
      stateUntil: null,
      orderedAt: null,
      acknowledgeBy: null,
    },
  };
};

/** A one-time purchase that awaits its payment. */
const newOneTimePurchase = (purchase: WantedPurchase): SoldOneTimePurchase => {
  const { packageName, purchaseOptionIdentifier, rental, test, quantity } = purchase;
  const account = purchase.obfuscatedAccountIdentifier;
  const productOfferDetails = {
    ...(purchaseOptionIdentifier !== undefined && { purchaseOptionId: purchaseOptionIdentifier }),
    ...(rental && { rentOfferDetails: {} }),
    quantity,
    refundableQuantity: quantity,
    consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
  };
  return {
    packageName,
    productKind: "one_time_product",
    answer: {
      kind: "androidpublisher#productPurchaseV2",
      regionCode: "US",
      purchaseStateContext: { purchaseState: "PENDING" },
      acknowledgementState: ACKNOWLEDGEMENT_PENDING,
      ...(account !== undefined && { obfuscatedExternalAccountId: account }),
      ...(test && { testPurchaseContext: { fopType: "TEST" } }),
      productLineItem: [{ productId: purchase.productIdentifier, productOfferDetails }],
    },
    terms: { acknowledgeBy: null },
  };
};

/** The lines of a subscription whose product follows another's at its end. */
const following = (
  lines: readonly SubscriptionLine[],
  replaced: SubscriptionPurchase,
): SubscriptionLine[] => {
  const end = endOf(replaced);
  const productId = lines[0]?.productId ?? "";
  const carriedOver = (replaced.lineItems ?? [])
    .filter(({ expiryTime }) => instantOf(expiryTime) === end)
    .map((line) => ({
      ...line,
      autoRenewingPlan: { autoRenewEnabled: false },
      deferredItemReplacement: { productId },
    }));
  return [...carriedOver, ...lines];
};

export const completedOnce = (
  sold: SoldOneTimePurchase,
  now: Instant,
  orderIdentifier = orderId(),
): Outcome => {
  const test = sold.answer.testPurchaseContext !== undefined;
  const fields = { orderId: orderIdentifier, purchaseCompletionTime: isoTime(now) };
  const paid = withAnswer(withPurchaseState(sold, "PURCHASED"), fields);
  const terms =
    sold.terms === null ? null : { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil: null }) };
  return outcome({ ...paid, terms }, { oneTimeProduct: "PURCHASED", sku: skuOf(sold) });
};

/** Paid now, until the given end. */
export const completed = (
  sold: SoldSubscription,
  until: Instant,
  now: Instant,
  orderIdentifier = orderId(),
): SoldSubscription => {
  const paid = active(sold, until, now, orderIdentifier);
  const test = sold.answer.testPurchase !== undefined;
  const prepaidUntil = isPrepaid(sold.answer) ? periodFrom(now, sold, {}) : null;
  const started = withAnswer(paid, { startTime: isoTime(now) });
  return withTerms(started, { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil }) });
};

/**
 * @param replaced running subscription that this purchase replaces; null: none
 * @throws ImpossibleChange
 */
export const sold = (purchase: WantedPurchase, at: Instant, replaced: SoldSubscription | null): Outcome => {
  const { productKind, orderIdentifier, pending, deferred, prepaid, period } = purchase;
  if (productKind === "one_time_product") {
    const once = newOneTimePurchase(purchase);
    return pending ? outcome(once) : completedOnce(once, at, orderIdentifier);
  }
  const subscription = newSubscription(purchase);
  const end = replaced === null ? null : endOf(replaced.answer);
  const isFollowed = replaced !== null && !isPrepaid(replaced.answer) && end !== null && end > at;
  if (deferred && (!isFollowed || pending))
    throw new ImpossibleChange(
      "A deferred purchase replaces a subscription that renews, and is not pending.",
    );
  if (pending) return tell(subscription);
  if (deferred && isFollowed) {
    const paid = completed(subscription, end, at);
    const lineItems = following(subscription.answer.lineItems ?? [], replaced.answer);
    return tell(withAnswer(paid, { lineItems }), "PURCHASED");
  }
  const isTopUp = prepaid && replaced !== null && isPrepaid(replaced.answer);
  const from = isTopUp ? Math.max(end ?? at, at) : at;
  return tell(completed(subscription, after(from, period), at, orderIdentifier), "PURCHASED");
};

/** @throws ImpossibleChange */
export const successorOf = (
  replaced: SoldSubscription | null,
  purchaseToken: string,
  change: "replace" | "upgrade" | "top-up",
  details: ChangeDetails,
): WantedPurchase => {
  const terms = replaced?.terms;
  if (replaced === null || terms == null)
    throw new ImpossibleChange("Only a subscription that was sold here, and has not ended, can be replaced.");
  const { answer, packageName } = replaced;
  const line = answer.lineItems?.at(-1);
  const prepaid = change === "top-up";
  if (prepaid && (!isPrepaid(answer) || stateOf(replaced) !== "ACTIVE" || details.pending === true))
    throw new ImpossibleChange("A top-up extends a prepaid plan that has not ended, and is paid at once.");
  const { productIdentifier = line?.productId, pending, deferred, period = terms.period } = details;
  return sandboxPurchase.parse({
    packageName,
    productKind: "subscription",
    productIdentifier,
    basePlanIdentifier: details.basePlanIdentifier ?? line?.offerDetails?.basePlanId ?? undefined,
    replaces: purchaseToken,
    period,
    ...failedPaymentPhases(terms, details),
    prepaid,
    pending,
    deferred,
    test: answer.testPurchase !== undefined,
    obfuscatedAccountIdentifier: answer.externalAccountIdentifiers?.obfuscatedExternalAccountId ?? undefined,
  });
};
