import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { requestEnd, type StoreRequestQueue } from "../../customers/notifications/store-request.ts";
import { STORE_REQUEST } from "../../delivery/message.ts";
import { requestDeliveryPut } from "./deliveries.ts";
import type { Table } from "../dynamodb/table.ts";
import { ifConditionHolds } from "../dynamodb/transactions.ts";

/** Destinations are written separately, so that one where the request already waits does not block the others. */
export const createStoreRequestQueue = ({ client, name: table }: Table): StoreRequestQueue => ({
  add: async (application, destinations, request) => {
    const { identifier, askedAt, data } = request;
    const message = { identifier, type: STORE_REQUEST, timestamp: askedAt, data };
    const delivery = { message, until: requestEnd(request) };
    await Promise.all(
      destinations.map((destination) => {
        const put = requestDeliveryPut(table, application, destination, delivery);
        // Only one that waits already needs no put: after a conflict with a transaction, the request would be lost.
        return ifConditionHolds(
          () => client.send(new PutCommand(put)),
          () => null,
        );
      }),
    );
  },
});
