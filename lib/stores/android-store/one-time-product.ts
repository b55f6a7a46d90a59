import { lineOrder, type Line } from "../../entitlements/purchase.ts";
import { acknowledgementDeadline } from "./acknowledgement-deadline.ts";
import { ACKNOWLEDGED, oneTimeProductAnswer } from "./answers.ts";
import { purchaseKeyOfToken } from "./purchase-token.ts";
import type { Question, Reading } from "./reading.ts";

/**
 * Parses the answer of `purchases.productsv2.getproductpurchasev2`. The store says that a purchase was refunded, but
 * not when.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/one-time
 */
export const readOneTimeProduct = (body: unknown, question: Question): Reading => {
  const parsed = oneTimeProductAnswer().safeParse(body);
  if (!parsed.success) return null;
  const answer = parsed.data;
  const { packageName, purchaseToken, productIdentifier, answeredAt } = question;
  const items = answer.productLineItem;
  if (productIdentifier !== null && !items.some(({ productId }) => productId === productIdentifier))
    return "product-not-in-purchase";

  const { purchaseState } = answer.purchaseStateContext;
  const isPaid = answer.purchaseCompletionTime !== null;
  // The store names the time of every payment: asked again, it will.
  if (purchaseState === "PURCHASED" && !isPaid) return null;
  // Without it, the purchase was cancelled while pending.
  const owned = purchaseState === "PENDING" || !isPaid ? [] : items;
  const lines = owned.map(({ productId, productOfferDetails: details }): Line => {
    const quantity = Math.max(1, details?.quantity ?? 1);
    const kept = Math.min(quantity, Math.max(0, details?.refundableQuantity ?? quantity));
    const revoked = purchaseState === "CANCELLED" || kept === 0;
    return {
      transactionIdentifier: null,
      event: null,
      productIdentifier: productId,
      basePlanIdentifier: null,
      purchaseOptionIdentifier: details?.purchaseOptionId ?? null,
      nature: "consumable",
      standing: revoked ? "revoked" : "entitled",
      startsAt: answer.purchaseCompletionTime,
      purchasedAt: null,
      endsAt: null,
      revokedAt: null,
      revokedSince: kept < quantity || revoked ? answeredAt : null,
      quantity,
      refundedQuantity: revoked ? 0 : quantity - kept,
      rented: details?.rentOfferDetails != null,
      willRenew: null,
      verifiedAt: answeredAt,
    };
  });

  const paid = lines.find(({ standing }) => standing === "entitled");
  const due = answer.acknowledgementState !== ACKNOWLEDGED;
  const environment = answer.testPurchaseContext === null ? "production" : "sandbox";
  const reference = { store: "android-store", environment, key: purchaseKeyOfToken(purchaseToken) } as const;
  return {
    purchase: {
      ...reference,
      lines: lines.toSorted(lineOrder),
      selectedProducts: productIdentifier === null ? null : [productIdentifier],
      replacedBy: null,
      replacedAt: null,
      renewal: null,
      verifiedAt: answeredAt,
    },
    replaces: null,
    samePerson: [],
    predecessors: [],
    isPending: purchaseState === "PENDING",
    isClosed: purchaseState !== "PENDING" && !isPaid,
    goesOn: null,
    acknowledgement:
      due && paid !== undefined
        ? {
            purchase: reference,
            packageName,
            purchaseToken,
            productKind: "one_time_product",
            productIdentifier: paid.productIdentifier,
            deadline: acknowledgementDeadline({
              environment,
              madeAt: answer.purchaseCompletionTime,
              answeredAt,
              prepaidUntil: null,
            }),
          }
        : null,
  };
};
