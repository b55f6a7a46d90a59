import { aroundEach, found, type Answer, type Routes } from "../../routes.ts";
import { googleRefusal } from "../answers.ts";
import { ACKNOWLEDGED, isPaid, productsOf, type StoredPurchase } from "../shop/purchases.ts";
import type { ShopKeeping } from "../shop/shop.ts";
import { batchGetOrders } from "./orders.ts";
import { listVoidedPurchases } from "./voided-purchases.ts";

type ProductKind = StoredPurchase["productKind"];

const GONE: Readonly<Record<ProductKind, readonly [reason: string, message: string]>> = {
  subscription: [
    "subscriptionPurchaseNoLongerAvailable",
    "The subscription purchase is no longer available for query because it has been expired for too long.",
  ],
  one_time_product: ["purchaseTokenNoLongerValid", "The purchase token is no longer valid."],
};

/** @throws Refused */
const soldUnder = (
  shop: ShopKeeping,
  productKind: ProductKind,
  packageName: string,
  purchaseToken: string,
): StoredPurchase => {
  if (shop.isDropped(purchaseToken)) throw googleRefusal(410, ...GONE[productKind]);
  const stored = shop.read(purchaseToken);
  if (stored === undefined)
    throw googleRefusal(404, "purchaseTokenNotFound", "The purchase token was not found.", "token");
  if (stored.packageName !== packageName)
    throw googleRefusal(
      400,
      "purchaseTokenDoesNotMatchPackageName",
      "The purchase token does not match the package name.",
      "token",
    );
  if (stored.productKind !== productKind) throw googleRefusal(400, "invalid", "Invalid Value");
  return stored;
};

/** @throws Refused */
const requireUnacknowledged = (stored: StoredPurchase, product: string): void => {
  if (!productsOf(stored).includes(product))
    throw googleRefusal(
      400,
      "purchaseTokenDoesNotMatchProductId",
      "The purchase token does not match the product ID.",
      "token",
    );
  if (!isPaid(stored))
    throw googleRefusal(400, "invalid", "The purchase is not in a state that can be acknowledged.");
  if (stored.answer.acknowledgementState === ACKNOWLEDGED)
    throw googleRefusal(400, "invalid", "The purchase has been acknowledged already.");
};

const OF_APPLICATION = "/androidpublisher/v3/applications/{packageName}";

/**
 * @param refusalOf error for the access token of a request; null: it is accepted
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export const publisherRoutes = (
  shop: ShopKeeping,
  refusalOf: (authorization: string | undefined) => Answer | null,
): Routes => {
  const routesOf = (kind: ProductKind, read: string, acknowledged: string): Routes => ({
    [`GET ${OF_APPLICATION}/purchases/${read}/tokens/{purchaseToken}`]: (_, packageName = "", token = "") =>
      found(soldUnder(shop, kind, packageName, token).answer),
    [`POST ${OF_APPLICATION}/purchases/${acknowledged}/{product}/tokens/{purchaseToken}:acknowledge`]: (
      _,
      packageName = "",
      product = "",
      token = "",
    ) => {
      requireUnacknowledged(soldUnder(shop, kind, packageName, token), product);
      shop.change(token, { change: "acknowledge" });
      return found({});
    },
  });
  const routes: Routes = {
    ...routesOf("subscription", "subscriptionsv2", "subscriptions"),
    ...routesOf("one_time_product", "productsv2", "products"),
    [`GET ${OF_APPLICATION}/orders:batchGet`]: ({ query }, packageName = "") =>
      batchGetOrders(packageName, query.getAll("orderIds"), shop.order, shop.voidedOf(packageName)),
    [`GET ${OF_APPLICATION}/purchases/voidedpurchases`]: ({ query }, packageName = "") =>
      listVoidedPurchases(shop.voidedOf(packageName), query, shop.time()),
  };
  return aroundEach(
    routes,
    (route) =>
      (call, ...named) =>
        refusalOf(call.authorization) ?? route(call, ...named),
  );
};
