import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { outcome, type Outcome } from "./outcome.ts";
import { endOf, type SoldSubscription } from "./purchases.ts";
import { expired, linesOf, stateOf, tell, type SubscriptionStep } from "./subscription-states.ts";
import type { VoidedOrder } from "../publisher-api/voided-purchases.ts";

/** Refunds, revocations and chargebacks of a subscription's orders. */

const latestOrder = (sold: SoldSubscription): string | null => {
  const end = endOf(sold.answer);
  const paid = linesOf(sold).filter(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId != null);
  const latest =
    paid.find(({ expiryTime }) => expiryTime != null && Date.parse(expiryTime) === end) ?? paid[0];
  return latest?.latestSuccessfulOrderId ?? null;
};

const voidOf = (
  sold: SoldSubscription,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): VoidedOrder | null => {
  const order = latestOrder(sold);
  const start = sold.answer.startTime;
  const orderedAt = sold.terms?.orderedAt ?? (start == null ? now : Date.parse(start));
  return order === null ? null : { orderId: order, orderedAt, quantity: null, ...reason };
};

/** Refunded and revoked: over at once, and the order is voided. */
export const revokedSubscription = (
  sold: SoldSubscription,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): Outcome<SoldSubscription> => {
  const over = stateOf(sold) === "EXPIRED";
  return {
    ...(over ? outcome(sold) : tell(expired(sold, now), "REVOKED")),
    voided: voidOf(sold, now, reason),
  };
};

export const revoke: SubscriptionStep = (sold, _, now) =>
  revokedSubscription(sold, now, { by: "developer", for: "other" });

/** The latest order is refunded. Neither the answer nor a notification says so. */
export const refundWithoutRevocation: SubscriptionStep = (sold) => {
  if (latestOrder(sold) === null) throw new ImpossibleChange("Nothing was paid.");
  return tell(sold);
};

export const voidOrder: SubscriptionStep = (sold, _, now) => {
  const voided = voidOf(sold, now, { by: "user", for: "chargeback" });
  if (voided === null) throw new ImpossibleChange("Nothing was paid.");
  return { ...outcome(sold), voided };
};

export const reviewRefund: SubscriptionStep = (sold) => {
  const order = latestOrder(sold);
  if (order === null) throw new ImpossibleChange("Nothing was paid.");
  return outcome(sold, { refundReview: `review.${order}`, orderId: order });
};
