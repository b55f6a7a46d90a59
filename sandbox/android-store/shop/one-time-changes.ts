import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { AndroidChange, ChangeDetails } from "./changes.ts";
import {
  acknowledgeBy,
  ACKNOWLEDGED,
  orderId,
  withAnswer,
  withOffer,
  withPurchaseState,
  type SoldOneTimePurchase,
  outcome,
  type Outcome,
} from "./purchases.ts";
import { REFUNDS, refundedPartly } from "./refunds.ts";

type OneTimeStep = (sold: SoldOneTimePurchase, details: ChangeDetails, now: Instant) => Outcome;

const skuOf = ({ answer }: SoldOneTimePurchase): string => answer.productLineItem?.[0]?.productId ?? "";

export const completed = (sold: SoldOneTimePurchase, now: Instant, orderIdentifier = orderId()): Outcome => {
  const test = sold.answer.testPurchaseContext !== undefined;
  const fields = { orderId: orderIdentifier, purchaseCompletionTime: isoTime(now) };
  const paid = withAnswer(withPurchaseState(sold, "PURCHASED"), fields);
  const terms =
    sold.terms === null ? null : { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil: null }) };
  return outcome({ ...paid, terms }, { oneTimeProduct: "PURCHASED", sku: skuOf(sold) });
};

export const ONE_TIME_STEPS: Partial<Record<AndroidChange, OneTimeStep>> = {
  ...REFUNDS,
  complete: (sold, _, now) => completed(sold, now),
  decline: (sold) =>
    outcome(withPurchaseState(sold, "CANCELLED"), { oneTimeProduct: "CANCELED", sku: skuOf(sold) }),
  "refund-partly": refundedPartly,
  consume: (sold) => {
    const consumed = withOffer(sold, { consumptionState: "CONSUMPTION_STATE_CONSUMED" });
    return outcome(withAnswer(consumed, { acknowledgementState: ACKNOWLEDGED }));
  },
};
