import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { found, type Answer } from "../../routes.ts";
import { googleError } from "../answers.ts";
import type { Order } from "../shop/orders.ts";
import type { VoidedPurchase } from "./voided-purchases.ts";

const MOST_ORDERS = 1000;

const stateOf = (voided: readonly VoidedPurchase[]): string => {
  if (voided.length === 0) return "PROCESSED";
  return voided.some(({ quantity }) => quantity === null) ? "REFUNDED" : "PARTIALLY_REFUNDED";
};

const presented = (
  { orderId, purchaseToken, createdAt, lines }: Order,
  voided: readonly VoidedPurchase[],
): androidpublisher_v3.Schema$Order => ({
  orderId,
  purchaseToken,
  state: stateOf(voided),
  createTime: isoTime(createdAt),
  lastEventTime: isoTime(Math.max(createdAt, ...voided.map(({ voidedAt }) => voidedAt))),
  lineItems: lines,
});

/**
 * All of the orders, in the order of the request, or none. Google documents that an unknown order fails the request, and
 * not the error's reason.
 *
 * @param voided voided purchases of the package
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/batchget
 */
export const batchGetOrders = (
  packageName: string,
  orderIds: readonly string[],
  find: (orderId: string) => Order | undefined,
  voided: readonly VoidedPurchase[],
): Answer => {
  const isDistinct = new Set(orderIds).size === orderIds.length;
  if (orderIds.length === 0 || orderIds.length > MOST_ORDERS || !isDistinct || orderIds.includes(""))
    return googleError(400, "invalid", "Invalid Value", "orderIds");
  const orders = orderIds.flatMap((orderId) => find(orderId) ?? []);
  if (orders.length < orderIds.length || orders.some((order) => order.packageName !== packageName))
    return googleError(404, "notFound", "An order was not found.", "orderIds");
  const voids = Map.groupBy(voided, ({ orderId }) => orderId);
  return found({ orders: orders.map((order) => presented(order, voids.get(order.orderId) ?? [])) });
};
