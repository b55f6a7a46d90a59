import * as z from "zod/mini";
import { lineOrder, purchaseOf, type Line } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { ACKNOWLEDGED, orNull, text, timestamp } from "./answers.ts";
import {
  lineOf,
  pendingAcknowledgement,
  purchaseReferenceOf,
  reportOf,
  type Question,
  type Reading,
} from "./reading.ts";

const oneTimeLine = once(() =>
  z.object({
    productId: text(),
    productOfferDetails: orNull(
      z.object({
        purchaseOptionId: orNull(text()),
        rentOfferDetails: orNull(z.object({})),
        quantity: orNull(z.int()),
        refundableQuantity: orNull(z.int()),
      }),
    ),
  }),
);

/** @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2#ProductPurchaseV2 */
export const oneTimeProductAnswer = once(() =>
  z.object({
    purchaseStateContext: z.object({ purchaseState: z.enum(["PURCHASED", "CANCELLED", "PENDING"]) }),
    purchaseCompletionTime: orNull(timestamp()),
    productLineItem: z.array(oneTimeLine()).check(z.minLength(1)),
    acknowledgementState: orNull(z.string()),
    testPurchaseContext: orNull(z.object({})),
  }),
);

type Answer = z.output<ReturnType<typeof oneTimeProductAnswer>>;

/** Lines of what was paid. The store says that it was refunded, but not when. */
const linesOf = (
  { productLineItem, purchaseCompletionTime, purchaseStateContext: { purchaseState } }: Answer,
  answeredAt: Instant,
): readonly Line[] =>
  productLineItem.map(({ productId, productOfferDetails: details }) => {
    const quantity = Math.max(1, details?.quantity ?? 1);
    const kept = Math.min(quantity, Math.max(0, details?.refundableQuantity ?? quantity));
    const revoked = purchaseState === "CANCELLED" || kept === 0;
    return lineOf({
      productIdentifier: productId,
      purchaseOptionIdentifier: details?.purchaseOptionId ?? null,
      nature: "consumable",
      standing: revoked ? "revoked" : "entitled",
      startsAt: purchaseCompletionTime,
      revokedSince: kept < quantity || revoked ? answeredAt : null,
      quantity,
      refundedQuantity: revoked ? 0 : quantity - kept,
      rented: details?.rentOfferDetails != null,
      verifiedAt: answeredAt,
    });
  });

/**
 * Parses the answer of `purchases.productsv2.getproductpurchasev2`.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/one-time
 */
export const readOneTimeProduct = (body: unknown, question: Question): Reading => {
  const { data: answer } = oneTimeProductAnswer().safeParse(body);
  if (answer === undefined) return null;
  const { purchaseToken, productIdentifier, answeredAt } = question;
  if (
    productIdentifier !== null &&
    !answer.productLineItem.some(({ productId }) => productId === productIdentifier)
  )
    return "product-not-in-purchase";

  const madeAt = answer.purchaseCompletionTime;
  const isPending = answer.purchaseStateContext.purchaseState === "PENDING";
  // The store names the time of every payment: asked again, it will.
  if (answer.purchaseStateContext.purchaseState === "PURCHASED" && madeAt === null) return null;
  // Without it, the purchase was cancelled while pending.
  const lines = isPending || madeAt === null ? [] : linesOf(answer, answeredAt);
  const paid = lines.find(({ standing }) => standing === "entitled");
  const purchase = purchaseReferenceOf(purchaseToken, answer.testPurchaseContext !== null);
  const isDue = answer.acknowledgementState !== ACKNOWLEDGED && paid !== undefined;
  const selectedProducts = productIdentifier === null ? null : [productIdentifier];
  return {
    ...reportOf({ ...purchaseOf(purchase, lines.toSorted(lineOrder), answeredAt), selectedProducts }),
    isPending,
    isClosed: !isPending && madeAt === null,
    acknowledgement: isDue
      ? pendingAcknowledgement(purchase, question, {
          productKind: "one_time_product",
          productIdentifier: paid.productIdentifier,
          madeAt,
          prepaidUntil: null,
        })
      : null,
  };
};
