import { decode, googleError, NO_APPLICATION, NO_TOKEN, WRONG_PRODUCT, type Answer } from "../answers.ts";
import { ACKNOWLEDGED, isPaid, productsOf, type StoredPurchase } from "../shop/purchases.ts";
import type { ShopKeeping } from "../shop/shop.ts";
import { batchGetOrders } from "./orders.ts";
import { listVoidedPurchases } from "./voided-purchases.ts";

const READ = /^\/applications\/([^/]+)\/purchases\/(subscriptionsv2|productsv2)\/tokens\/([^/:]+)$/;
const ACKNOWLEDGE =
  /^\/applications\/([^/]+)\/purchases\/(subscriptions|products)\/([^/]+)\/tokens\/([^/:]+):acknowledge$/;

const ORDERS = /^\/applications\/([^/]+)\/orders:batchGet$/;
const VOIDED = /^\/applications\/([^/]+)\/purchases\/voidedpurchases$/;

/**
 * The API's methods that read and acknowledge purchases, read orders and list voided purchases.
 *
 * @param packageNames existing packages; undefined: every package exists
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export const createPublisherApi = (
  shop: ShopKeeping,
  packageNames: readonly string[] | undefined,
): ((method: string, path: string, parameters: URLSearchParams) => Answer) => {
  const isUnknown = (packageName: string): boolean => packageNames?.includes(packageName) === false;

  const find = (
    packageName: string,
    productKind: StoredPurchase["productKind"],
    purchaseToken: string,
  ): StoredPurchase | Answer => {
    if (isUnknown(packageName)) return NO_APPLICATION;
    if (shop.isDropped(purchaseToken))
      return productKind === "subscription"
        ? googleError(
            410,
            "subscriptionPurchaseNoLongerAvailable",
            "The subscription purchase is no longer available for query because it has been expired for too long.",
          )
        : googleError(410, "purchaseTokenNoLongerValid", "The purchase token is no longer valid.");
    const stored = shop.read(purchaseToken);
    if (stored === undefined) return NO_TOKEN;
    if (stored.packageName !== packageName)
      return googleError(
        400,
        "purchaseTokenDoesNotMatchPackageName",
        "The purchase token does not match the package name.",
        "token",
      );
    return stored.productKind === productKind ? stored : googleError(400, "invalid", "Invalid Value");
  };

  const acknowledge = (purchaseToken: string, stored: StoredPurchase, product: string): Answer => {
    if (!productsOf(stored).includes(product)) return WRONG_PRODUCT;
    if (!isPaid(stored))
      return googleError(400, "invalid", "The purchase is not in a state that can be acknowledged.");
    if (stored.answer.acknowledgementState === ACKNOWLEDGED)
      return googleError(400, "invalid", "The purchase has been acknowledged already.");
    shop.acknowledge(purchaseToken);
    return { status: 200, body: {} };
  };

  return (method, path, parameters) => {
    const read = READ.exec(path)?.slice(1).map(decode);
    if (method === "GET" && read !== undefined) {
      const [packageName = "", resource = "", purchaseToken = ""] = read;
      const kind = resource === "subscriptionsv2" ? "subscription" : "one_time_product";
      const found = find(packageName, kind, purchaseToken);
      return "status" in found ? found : { status: 200, body: found.answer };
    }
    const acknowledgement = ACKNOWLEDGE.exec(path)?.slice(1).map(decode);
    if (method === "POST" && acknowledgement !== undefined) {
      const [packageName = "", resource = "", product = "", purchaseToken = ""] = acknowledgement;
      const kind = resource === "subscriptions" ? "subscription" : "one_time_product";
      const found = find(packageName, kind, purchaseToken);
      return "status" in found ? found : acknowledge(purchaseToken, found, product);
    }
    const orders = ORDERS.exec(path)?.slice(1).map(decode);
    if (method === "GET" && orders !== undefined) {
      const [packageName = ""] = orders;
      if (isUnknown(packageName)) return NO_APPLICATION;
      const voided = Map.groupBy(shop.voidedOf(packageName), ({ orderId }) => orderId);
      return batchGetOrders(packageName, parameters.getAll("orderIds"), shop.order, voided);
    }
    const voided = VOIDED.exec(path)?.slice(1).map(decode);
    if (method === "GET" && voided !== undefined) {
      const [packageName = ""] = voided;
      return isUnknown(packageName)
        ? NO_APPLICATION
        : listVoidedPurchases(shop.voidedOf(packageName), parameters, shop.time());
    }
    return { status: 404, body: "<!DOCTYPE html><title>Error 404 (Not Found)</title>" };
  };
};
