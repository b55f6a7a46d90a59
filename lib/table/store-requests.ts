import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { requestEnd, type StoreRequestQueue } from "../customers/store-request.ts";
import { STORE_REQUEST } from "../telling/message.ts";
import { requestDeliveryPut } from "./deliveries.ts";
import type { Table } from "./table.ts";

/** Destinations are written separately, so that one where the request already waits does not block the others. */
export const createStoreRequestQueue = ({ client, name: table }: Table): StoreRequestQueue => ({
  add: async (application, destinations, request) => {
    const { identifier, askedAt, data } = request;
    const message = { identifier, type: STORE_REQUEST, timestamp: askedAt, data };
    const delivery = { message, until: requestEnd(request) };
    await Promise.all(
      destinations.map(async (destination) => {
        try {
          await client.send(new PutCommand(requestDeliveryPut(table, application, destination, delivery)));
        } catch (error) {
          if (!(error instanceof ConditionalCheckFailedException)) throw error;
        }
      }),
    );
  },
});
