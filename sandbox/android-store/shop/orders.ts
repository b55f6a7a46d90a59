import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { isInstant, isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import type { SoldPurchase, SoldSubscription } from "./purchases.ts";

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

const linesOfSubscription = (sold: SoldSubscription, at: Instant): readonly (readonly [string, Line])[] =>
  (sold.answer.lineItems ?? []).flatMap(({ latestSuccessfulOrderId, productId, offerDetails, expiryTime }) =>
    latestSuccessfulOrderId == null
      ? []
      : [
          [
            latestSuccessfulOrderId,
            {
              productId: productId ?? "",
              subscriptionDetails: {
                ...(offerDetails?.basePlanId != null && { basePlanId: offerDetails.basePlanId }),
                servicePeriodStartTime: isoTime(at),
                ...(expiryTime != null && { servicePeriodEndTime: expiryTime }),
              },
            },
          ] as const,
        ],
  );

const linesOf = (sold: SoldPurchase, at: Instant): readonly (readonly [string, Line])[] => {
  if (sold.productKind === "subscription") return linesOfSubscription(sold, at);
  const { orderId, productLineItem } = sold.answer;
  return orderId == null
    ? []
    : (productLineItem ?? []).map(({ productId, productOfferDetails }) => [
        orderId,
        {
          productId: productId ?? "",
          oneTimePurchaseDetails: {
            quantity: productOfferDetails?.quantity ?? 1,
            ...(productOfferDetails?.purchaseOptionId != null && {
              purchaseOptionId: productOfferDetails.purchaseOptionId,
            }),
          },
        },
      ]);
};

/** @param saved what `save` returned */
export const createOrders = (saved: z.output<typeof savedOrders>) => {
  const orders = new Map<string, Order>(saved.map((each) => [each.orderId, each]));
  return {
    /** Keeps the orders that a purchase's answer names, each once. */
    keep: (purchaseToken: string, sold: SoldPurchase, at: Instant): void => {
      const lines = linesOf(sold, at).filter(([orderId]) => !orders.has(orderId));
      for (const [orderId] of lines)
        orders.set(orderId, {
          orderId,
          packageName: sold.packageName,
          purchaseToken,
          createdAt: at,
          lines: lines.flatMap(([of, line]) => (of === orderId ? [line] : [])),
        });
    },
    find: (orderId: string): Order | undefined => orders.get(orderId),
    clear: () => orders.clear(),
    save: (): z.input<typeof savedOrders> => [...orders.values()],
  };
};
