import { lineOrder, type Line } from "../../entitlements/purchase.ts";
import { ACKNOWLEDGEMENT_PENDING, oneTimeProductAnswer } from "./answers.ts";
import { purchaseKeyOfToken } from "./purchase-token.ts";
import type { Question, Reading } from "./reading.ts";

/**
 * Reads the answer of `purchases.productsv2.getproductpurchasev2`. The store says that a purchase was refunded, not when.
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
  const owned = purchaseState === "PENDING" ? [] : items;
  const lines = owned.map(({ productId, productOfferDetails: details }): Line => {
    const refunded = details?.refundableQuantity === 0 && (details.quantity ?? 1) > 0;
    return {
      transactionIdentifier: null,
      productIdentifier: productId,
      basePlanIdentifier: null,
      nature: details?.consumptionState === "CONSUMPTION_STATE_CONSUMED" ? "consumable" : "non_consumable",
      standing: purchaseState === "CANCELLED" || refunded ? "revoked" : "entitled",
      startsAt: answer.purchaseCompletionTime,
      endsAt: null,
      revokedAt: null,
      willRenew: null,
      verifiedAt: answeredAt,
    };
  });

  const paid = lines.find(({ standing }) => standing === "entitled");
  const due = answer.acknowledgementState === ACKNOWLEDGEMENT_PENDING;
  return {
    purchase: {
      store: "android-store",
      environment: answer.testPurchaseContext === null ? "production" : "sandbox",
      key: purchaseKeyOfToken(purchaseToken),
      lines: lines.toSorted(lineOrder),
      selectedProducts: productIdentifier === null ? null : [productIdentifier],
      replacedBy: null,
      verifiedAt: answeredAt,
    },
    identities: { obfuscatedAccountIdentifier: answer.obfuscatedExternalAccountId },
    replaces: null,
    samePerson: [],
    acknowledgement:
      due && paid !== undefined
        ? {
            packageName,
            purchaseToken,
            productKind: "one_time_product",
            productIdentifier: paid.productIdentifier,
          }
        : null,
  };
};
