import type { Answer, Routes } from "../../routes.ts";
import { googleError } from "../answers.ts";
import { ACKNOWLEDGED, isPaid, productsOf, type StoredPurchase } from "../shop/purchases.ts";
import type { ShopKeeping } from "../shop/shop.ts";
import { batchGetOrders } from "./orders.ts";
import { listVoidedPurchases } from "./voided-purchases.ts";

type ProductKind = StoredPurchase["productKind"];

const gone = (productKind: ProductKind): Answer =>
  productKind === "subscription"
    ? googleError(
        410,
        "subscriptionPurchaseNoLongerAvailable",
        "The subscription purchase is no longer available for query because it has been expired for too long.",
      )
    : googleError(410, "purchaseTokenNoLongerValid", "The purchase token is no longer valid.");

const OF_APPLICATION = "/androidpublisher/v3/applications/{packageName}";

/**
 * The API's methods that read and acknowledge purchases, read orders and list voided purchases.
 *
 * @param packageNames existing packages; undefined: every package exists
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export const publisherRoutes = (shop: ShopKeeping, packageNames: readonly string[] | undefined): Routes => {
  const ofPackage = (packageName: string, answer: () => Answer): Answer =>
    packageNames?.includes(packageName) === false
      ? googleError(
          404,
          "applicationNotFound",
          "No application was found for the given package name.",
          "packageName",
        )
      : answer();

  const ofPurchase = (
    [packageName = "", purchaseToken = ""]: readonly (string | undefined)[],
    productKind: ProductKind,
    answer: (stored: StoredPurchase, purchaseToken: string) => Answer,
  ): Answer =>
    ofPackage(packageName, () => {
      if (shop.isDropped(purchaseToken)) return gone(productKind);
      const stored = shop.read(purchaseToken);
      if (stored === undefined)
        return googleError(404, "purchaseTokenNotFound", "The purchase token was not found.", "token");
      if (stored.packageName !== packageName)
        return googleError(
          400,
          "purchaseTokenDoesNotMatchPackageName",
          "The purchase token does not match the package name.",
          "token",
        );
      return stored.productKind === productKind
        ? answer(stored, purchaseToken)
        : googleError(400, "invalid", "Invalid Value");
    });

  const acknowledge = (stored: StoredPurchase, purchaseToken: string, product: string): Answer => {
    if (!productsOf(stored).includes(product))
      return googleError(
        400,
        "purchaseTokenDoesNotMatchProductId",
        "The purchase token does not match the product ID.",
        "token",
      );
    if (!isPaid(stored))
      return googleError(400, "invalid", "The purchase is not in a state that can be acknowledged.");
    if (stored.answer.acknowledgementState === ACKNOWLEDGED)
      return googleError(400, "invalid", "The purchase has been acknowledged already.");
    shop.change(purchaseToken, "acknowledge");
    return { status: 200, body: {} };
  };

  const routesOf = (kind: ProductKind, read: string, acknowledged: string): Routes => ({
    [`GET ${OF_APPLICATION}/purchases/${read}/tokens/{purchaseToken}`]: (_, packageName, purchaseToken) =>
      ofPurchase([packageName, purchaseToken], kind, ({ answer }) => ({ status: 200, body: answer })),
    [`POST ${OF_APPLICATION}/purchases/${acknowledged}/{product}/tokens/{purchaseToken}:acknowledge`]: (
      _,
      packageName,
      product = "",
      purchaseToken,
    ) =>
      ofPurchase([packageName, purchaseToken], kind, (stored, token) => acknowledge(stored, token, product)),
  });
  return {
    ...routesOf("subscription", "subscriptionsv2", "subscriptions"),
    ...routesOf("one_time_product", "productsv2", "products"),
    [`GET ${OF_APPLICATION}/orders:batchGet`]: ({ query }, packageName = "") =>
      ofPackage(packageName, () =>
        batchGetOrders(packageName, query.getAll("orderIds"), shop.order, shop.voidedOf(packageName)),
      ),
    [`GET ${OF_APPLICATION}/purchases/voidedpurchases`]: ({ query }, packageName = "") =>
      ofPackage(packageName, () => listVoidedPurchases(shop.voidedOf(packageName), query, shop.time())),
  };
};
