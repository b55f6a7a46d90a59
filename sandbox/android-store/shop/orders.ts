import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { isInstant, isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { SoldPurchase } from "./purchases.ts";

/** The store's orders: one for each payment. An order outlives its purchase, whose token may be dropped. */

type Line = androidpublisher_v3.Schema$LineItem;

const order = z.object({
  orderId: z.string(),
  packageName: z.string(),
  purchaseToken: z.string(),
  createdAt: z.number().refine(isInstant),
  lines: z.array(z.custom<Line>((value) => typeof value === "object" && value !== null)),
});
export type Order = Readonly<z.output<typeof order>>;
export const savedOrders = z.array(order);

/** Lines of a purchase's answer, each with its order. */
const linesOf = (sold: SoldPurchase, at: Instant): readonly { orderId: string; line: Line }[] => {
  if (sold.productKind === "subscription")
    return (sold.answer.lineItems ?? []).flatMap(
      ({ latestSuccessfulOrderId: orderId, productId = "", offerDetails, expiryTime }) => {
        const subscriptionDetails = {
          ...(offerDetails?.basePlanId != null && { basePlanId: offerDetails.basePlanId }),
          servicePeriodStartTime: isoTime(at),
          ...(expiryTime != null && { servicePeriodEndTime: expiryTime }),
        };
        return orderId == null ? [] : { orderId, line: { productId, subscriptionDetails } };
      },
    );
  const { orderId, productLineItem } = sold.answer;
  if (orderId == null) return [];
  return (productLineItem ?? []).map(({ productId = "", productOfferDetails: offer }) => {
    const oneTimePurchaseDetails = {
      quantity: offer?.quantity ?? 1,
      ...(offer?.purchaseOptionId != null && { purchaseOptionId: offer.purchaseOptionId }),
    };
    return { orderId, line: { productId, oneTimePurchaseDetails } };
  });
};

/** Orders that a purchase's answer names. */
export const ordersOf = (purchaseToken: string, sold: SoldPurchase, createdAt: Instant): readonly Order[] =>
  [...Map.groupBy(linesOf(sold, createdAt), ({ orderId }) => orderId)].map(([orderId, ordered]) => ({
    orderId,
    packageName: sold.packageName,
    purchaseToken,
    createdAt,
    lines: ordered.map(({ line }) => line),
  }));
