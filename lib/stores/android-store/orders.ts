import type { ProductKind } from "../../contract/schemas.ts";
import { malformedAnswer, type StoreClientOptions } from "../store-client.ts";
import type { AndroidPackage } from "./android-store.ts";
import { ordersAnswer } from "./answers.ts";
import type { Failure } from "./failure.ts";
import { createAndroidPublisher } from "./publisher.ts";

/** A payment, and the purchase that it is of. */
export interface AndroidOrder {
  readonly orderIdentifier: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
}

/** Orders by their identifiers. All of them, or none: `rejected` where the store does not know one of them. */
export type AndroidOrdersAnswer =
  { readonly outcome: "answered"; readonly orders: readonly AndroidOrder[] } | Failure;

export interface AndroidOrders {
  /**
   * @param orderIdentifiers up to 1,000, each once
   * @see https://developers.google.com/android-publisher/api-ref/rest/v3/orders/batchget
   */
  find(androidPackage: AndroidPackage, orderIdentifiers: readonly string[]): Promise<AndroidOrdersAnswer>;
}

/** Google documents that an unknown order fails the request, and not with which reason. */
const isUnknown = ({ outcome, status }: Failure): boolean =>
  outcome === "unavailable" && (status === 404 || status === 400);

export const createAndroidOrders = (options: StoreClientOptions): AndroidOrders => {
  const publisher = createAndroidPublisher(options);
  return {
    find: async ({ packageName, credential }, orderIdentifiers) => {
      const result = await publisher.call(credential, ({ orders }, auth, limits) =>
        orders.batchget({ packageName, orderIds: [...orderIdentifiers], auth }, limits),
      );
      if (result.outcome !== "answered")
        return isUnknown(result)
          ? { outcome: "rejected", status: result.status, reason: result.reason }
          : result;
      const read = ordersAnswer().safeParse(result.body);
      if (!read.success) return malformedAnswer;
      return {
        outcome: "answered",
        orders: (read.data.orders ?? []).flatMap(({ orderId, purchaseToken, lineItems }) => {
          if (purchaseToken === null) return [];
          const isSubscription = lineItems?.some((line) => line.subscriptionDetails !== null) ?? false;
          const productKind: ProductKind = isSubscription ? "subscription" : "one_time_product";
          return [{ orderIdentifier: orderId, purchaseToken, productKind }];
        }),
      };
    },
  };
};
