import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import type { AndroidChange, ChangeDetails } from "./requests.ts";
import {
  endOf,
  instantOf,
  withOffer,
  withPurchaseState,
  type SoldOneTimePurchase,
  type SoldPurchase,
  type VoidedOrder,
  outcome,
  type Outcome,
} from "./purchases.ts";
import { expired, linesOf, stateOf, tell } from "./subscription-states.ts";

/** The latest order that was paid; null: none was. */
const latestOrder = (sold: SoldPurchase, now: Instant): Pick<VoidedOrder, "orderId" | "orderedAt"> | null => {
  if (sold.productKind === "one_time_product") {
    const { orderId, purchaseCompletionTime } = sold.answer;
    return orderId == null ? null : { orderId, orderedAt: instantOf(purchaseCompletionTime) ?? now };
  }
  const end = endOf(sold.answer);
  const paid = linesOf(sold).filter(({ latestSuccessfulOrderId }) => latestSuccessfulOrderId != null);
  const latest = paid.find(({ expiryTime }) => instantOf(expiryTime) === end) ?? paid[0];
  const orderId = latest?.latestSuccessfulOrderId;
  const orderedAt = sold.terms?.orderedAt ?? instantOf(sold.answer.startTime) ?? now;
  return orderId == null ? null : { orderId, orderedAt };
};

/** @throws ImpossibleChange */
const paidOrder = (sold: SoldPurchase, now: Instant) => {
  const order = latestOrder(sold, now);
  if (order === null) throw new ImpossibleChange("Nothing was paid.");
  return order;
};

/** Refunded and revoked: over at once, and the order is voided. Of a one-time purchase, only the void is notified. */
export const revoked = (
  sold: SoldPurchase,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): Outcome => {
  const order = latestOrder(sold, now);
  const voided = order === null ? null : { ...order, quantity: null, ...reason };
  if (sold.productKind === "one_time_product") {
    const refunded = withOffer(sold, { refundableQuantity: 0 });
    return { ...outcome(withPurchaseState(refunded, "CANCELLED")), voided };
  }
  const over = stateOf(sold) === "EXPIRED" ? outcome(sold) : tell(expired(sold, now), "REVOKED");
  return { ...over, voided };
};

type RefundStep = (sold: SoldPurchase, details: ChangeDetails, now: Instant) => Outcome;

const revoke: RefundStep = (sold, _, now) => revoked(sold, now, { by: "developer", for: "other" });

/** Refunds of both kinds of purchase. */
export const REFUNDS: Partial<Record<AndroidChange, RefundStep>> = {
  refund: revoke,
  revoke,
  // Neither a subscription's answer nor a notification says so.
  "refund-without-revocation": (sold, _, now) => {
    paidOrder(sold, now);
    return outcome(sold.productKind === "subscription" ? sold : withOffer(sold, { refundableQuantity: 0 }));
  },
  "void-order": (sold, _, now) => ({
    ...outcome(sold),
    voided: { ...paidOrder(sold, now), quantity: null, by: "user", for: "chargeback" },
  }),
  "refund-review": (sold, _, now) => {
    const { orderId } = paidOrder(sold, now);
    return outcome(sold, { refundReview: `review.${orderId}`, orderId });
  },
};

/** Refunds and revokes a part of a quantity, or what remains of it. */
export const refundedPartly = (
  sold: SoldOneTimePurchase,
  { quantity = 1 }: ChangeDetails,
  now: Instant,
): Outcome => {
  const offer = sold.answer.productLineItem?.[0]?.productOfferDetails;
  const refundableQuantity = (offer?.refundableQuantity ?? offer?.quantity ?? 1) - quantity;
  if (refundableQuantity < 0) throw new ImpossibleChange("That quantity is not left to be refunded.");
  if (refundableQuantity === 0) return revoke(sold, {}, now);
  const voided = { ...paidOrder(sold, now), quantity, by: "developer", for: "other" } as const;
  return { ...outcome(withOffer(sold, { refundableQuantity })), voided };
};
