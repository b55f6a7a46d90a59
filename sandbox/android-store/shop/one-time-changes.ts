import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { AndroidChange, ChangeDetails } from "./changes.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import { outcome, type Outcome } from "./outcome.ts";
import { ACKNOWLEDGED, orderId, type SoldOneTimePurchase } from "./purchases.ts";
import { acknowledgeBy } from "./terms.ts";
import type { VoidedOrder } from "../publisher-api/voided-purchases.ts";

const requireState = ({ answer }: SoldOneTimePurchase, allowed: string): void => {
  const state = answer.purchaseStateContext?.purchaseState;
  if (state !== allowed)
    throw new ImpossibleChange(`The change is not possible for a purchase in ${state ?? "no state"}.`);
};

const withDetails = (
  sold: SoldOneTimePurchase,
  details: androidpublisher_v3.Schema$ProductOfferDetails,
): SoldOneTimePurchase => ({
  ...sold,
  answer: {
    ...sold.answer,
    productLineItem: (sold.answer.productLineItem ?? []).map((line) => ({
      ...line,
      productOfferDetails: { ...line.productOfferDetails, ...details },
    })),
  },
});

const skuOf = ({ answer }: SoldOneTimePurchase): string => answer.productLineItem?.[0]?.productId ?? "";

const voidOf = (
  { answer }: SoldOneTimePurchase,
  now: Instant,
  reason: Omit<VoidedOrder, "orderId" | "orderedAt">,
): VoidedOrder | null => {
  const { orderId, purchaseCompletionTime } = answer;
  return orderId == null
    ? null
    : {
        orderId,
        orderedAt: purchaseCompletionTime == null ? now : Date.parse(purchaseCompletionTime),
        ...reason,
      };
};

/** Refunded and revoked. The store notifies it only as a voided purchase. */
export const revokedOneTimePurchase = (
  sold: SoldOneTimePurchase,
  now: Instant,
  reason: Pick<VoidedOrder, "by" | "for">,
): Outcome<SoldOneTimePurchase> => {
  const refunded = withDetails(sold, { refundableQuantity: 0 });
  return {
    ...outcome({
      ...refunded,
      answer: { ...refunded.answer, purchaseStateContext: { purchaseState: "CANCELLED" } },
    }),
    voided: voidOf(sold, now, { quantity: null, ...reason }),
  };
};

const refundedPartly = (
  sold: SoldOneTimePurchase,
  quantity: number,
  now: Instant,
): Outcome<SoldOneTimePurchase> => {
  const details = sold.answer.productLineItem?.[0]?.productOfferDetails;
  const left = (details?.refundableQuantity ?? details?.quantity ?? 1) - quantity;
  if (left < 0) throw new ImpossibleChange("That quantity is not left to be refunded.");
  const by = { by: "developer", for: "other" } as const;
  if (left === 0) return revokedOneTimePurchase(sold, now, by);
  return {
    ...outcome(withDetails(sold, { refundableQuantity: left })),
    voided: voidOf(sold, now, { quantity, ...by }),
  };
};

/** @throws ImpossibleChange */
export const changedOneTimePurchase = (
  sold: SoldOneTimePurchase,
  change: AndroidChange,
  { quantity = 1 }: ChangeDetails,
  now: Instant,
): Outcome<SoldOneTimePurchase> => {
  const sku = skuOf(sold);
  switch (change) {
    case "complete": {
      requireState(sold, "PENDING");
      const test = sold.answer.testPurchaseContext !== undefined;
      return outcome(
        {
          ...sold,
          answer: {
            ...sold.answer,
            purchaseStateContext: { purchaseState: "PURCHASED" },
            orderId: orderId(),
            purchaseCompletionTime: isoTime(now),
          },
          terms:
            sold.terms === null ? null : { acknowledgeBy: acknowledgeBy(now, { test, prepaidUntil: null }) },
        },
        { oneTimeProduct: "PURCHASED", sku },
      );
    }
    case "decline":
      requireState(sold, "PENDING");
      return outcome(
        { ...sold, answer: { ...sold.answer, purchaseStateContext: { purchaseState: "CANCELLED" } } },
        { oneTimeProduct: "CANCELED", sku },
      );
    case "refund":
    case "revoke":
      requireState(sold, "PURCHASED");
      return revokedOneTimePurchase(sold, now, { by: "developer", for: "other" });
    case "refund-partly":
      requireState(sold, "PURCHASED");
      return refundedPartly(sold, quantity, now);
    case "refund-without-revocation":
      requireState(sold, "PURCHASED");
      return outcome(withDetails(sold, { refundableQuantity: 0 }));
    case "void-order":
      requireState(sold, "PURCHASED");
      return {
        ...outcome(sold),
        voided: voidOf(sold, now, { quantity: null, by: "user", for: "chargeback" }),
      };
    case "refund-review": {
      requireState(sold, "PURCHASED");
      const order = sold.answer.orderId ?? "";
      return outcome(sold, { refundReview: `review.${order}`, orderId: order });
    }
    case "consume": {
      requireState(sold, "PURCHASED");
      const consumed = withDetails(sold, { consumptionState: "CONSUMPTION_STATE_CONSUMED" });
      return outcome({ ...consumed, answer: { ...consumed.answer, acknowledgementState: ACKNOWLEDGED } });
    }
    default:
      throw new ImpossibleChange("The change is possible for subscriptions only.");
  }
};
