import { requestEnd, type StoreRequestQueue } from "../../customers/notifications/store-request.ts";
import { STORE_REQUEST } from "../../delivery/message.ts";
import type { Table } from "../dynamodb/table.ts";
import { ifConditionHolds, write } from "../dynamodb/transactions.ts";
import { requestDelivery } from "./delivery-queue.ts";

/** Destinations are written separately, so that one where the request already waits does not block the others. */
export const createStoreRequestQueue = (table: Table): StoreRequestQueue => ({
  add: async (application, destinations, request) => {
    const { identifier, askedAt, data } = request;
    const message = { identifier, type: STORE_REQUEST, timestamp: askedAt, data };
    const delivery = { message, until: requestEnd(request) };
    // Only one that waits already needs no put: after a conflict with a transaction, the request would be lost.
    const add = (destination: string) =>
      ifConditionHolds(
        () => write(table, requestDelivery({ application, destination }, delivery)),
        () => undefined,
      );
    await Promise.all(destinations.map(add));
  },
});
