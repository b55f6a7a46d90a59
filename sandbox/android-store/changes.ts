import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { isoTime, plusPeriod, type Instant, type Period } from "../../lib/entitlements/time.ts";
import { ACKNOWLEDGED, orderId, type OneTimePurchase, type SubscriptionPurchase } from "./purchases.ts";

/** Changes of a purchase. A one-time purchase supports only `complete`, `decline`, `refund` and `consume`. */
export const CHANGES = [
  /** A pending purchase is paid. */
  "complete",
  /** A pending purchase is canceled. */
  "decline",
  /** The next period begins at the end of the current one, or now if that has passed. Ends a cancellation, pause or hold. */
  "renew",
  /** The user cancels the renewal; access lasts until the period ends. */
  "cancel",
  /** A payment fails; access continues for the given period. */
  "grace",
  /** A payment fails; access ends until it succeeds. */
  "hold",
  "pause",
  "expire",
  /** The purchase is refunded; access ends. */
  "refund",
  "consume",
] as const;
export type Change = (typeof CHANGES)[number];

export class ImpossibleChange extends Error {}

const requireState = (actual: string | null | undefined, ...allowed: string[]): void => {
  if (actual == null || !allowed.includes(actual))
    throw new ImpossibleChange(`The change is not possible for a purchase in ${actual ?? "no state"}.`);
};

export const changedSubscription = (
  purchase: SubscriptionPurchase,
  change: Change,
  period: Period,
  now: Instant,
): SubscriptionPurchase => {
  const until = (expiry: Instant, autoRenewEnabled: boolean): SubscriptionPurchase["lineItems"] & {} =>
    (purchase.lineItems ?? []).map((line) => ({
      ...line,
      expiryTime: isoTime(expiry),
      ...(line.prepaidPlan === undefined && { autoRenewingPlan: { autoRenewEnabled } }),
    }));
  const paid = (lines: SubscriptionPurchase["lineItems"] & {}) =>
    lines.map((line) => ({ ...line, latestSuccessfulOrderId: orderId() }));
  const end = Math.max(
    ...(purchase.lineItems ?? []).map((line) =>
      line.expiryTime == null ? now : Date.parse(line.expiryTime),
    ),
  );
  const state = purchase.subscriptionState;
  const pending = "SUBSCRIPTION_STATE_PENDING";
  if (change === "complete" || change === "decline") requireState(state, pending);
  else if (state === pending) throw new ImpossibleChange("The purchase is pending: complete or decline it.");

  switch (change) {
    case "complete":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
        startTime: isoTime(now),
        lineItems: paid(until(plusPeriod(now, period), true)),
      };
    case "decline":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" };
    case "renew":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
        lineItems: paid(until(plusPeriod(Math.max(end, now), period), true)),
      };
    case "cancel":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_CANCELED",
        canceledStateContext: { userInitiatedCancellation: { cancelTime: isoTime(now) } },
        lineItems: until(end, false),
      };
    case "grace":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_IN_GRACE_PERIOD",
        lineItems: until(plusPeriod(now, period), true),
      };
    case "hold":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_ON_HOLD", lineItems: until(now, true) };
    case "pause":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_PAUSED",
        pausedStateContext: { autoResumeTime: isoTime(plusPeriod(now, period)) },
        lineItems: until(now, true),
      };
    case "expire":
    case "refund":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED", lineItems: until(now, false) };
    case "consume":
      throw new ImpossibleChange("A subscription cannot be consumed.");
  }
};

export const changedOneTimePurchase = (
  purchase: OneTimePurchase,
  change: Change,
  now: Instant,
): OneTimePurchase => {
  const state = purchase.purchaseStateContext?.purchaseState;
  const withDetails = (details: androidpublisher_v3.Schema$ProductOfferDetails): OneTimePurchase => ({
    ...purchase,
    productLineItem: (purchase.productLineItem ?? []).map((line) => ({
      ...line,
      productOfferDetails: { ...line.productOfferDetails, ...details },
    })),
  });
  switch (change) {
    case "complete":
      requireState(state, "PENDING");
      return {
        ...purchase,
        purchaseStateContext: { purchaseState: "PURCHASED" },
        orderId: orderId(),
        purchaseCompletionTime: isoTime(now),
      };
    case "decline":
      requireState(state, "PENDING");
      return { ...purchase, purchaseStateContext: { purchaseState: "CANCELLED" } };
    case "refund":
      requireState(state, "PURCHASED");
      return {
        ...withDetails({ refundableQuantity: 0 }),
        purchaseStateContext: { purchaseState: "CANCELLED" },
      };
    case "consume":
      requireState(state, "PURCHASED");
      return {
        ...withDetails({ consumptionState: "CONSUMPTION_STATE_CONSUMED" }),
        acknowledgementState: ACKNOWLEDGED,
      };
    case "renew":
    case "cancel":
    case "grace":
    case "hold":
    case "pause":
    case "expire":
      throw new ImpossibleChange("The change is possible for subscriptions only.");
  }
};
