import { DeleteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { HEALTHY } from "../../queues/health.ts";
import type { Delivery, DeliveryQueue, DestinationReference } from "../../delivery/delivery-queue.ts";
import { createBatchReader } from "../dynamodb/batch-reader.ts";
import { fromChangeItem } from "./change-items.ts";
import { present, versionUnchanged, type Condition } from "../dynamodb/conditions.ts";
import { fromDeliveryItem, deliveryItem } from "./deliveries.ts";
import { type Key, keyText } from "../dynamodb/key.ts";
import { keys, partitions } from "../keys.ts";
import { createLeasedQueues } from "../queues/lease.ts";
import { queryPages } from "../dynamodb/query.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { unlessChanged } from "../dynamodb/transactions.ts";
import { updateOf } from "../dynamodb/writes.ts";

export const createDeliveryQueue = (table: Table): DeliveryQueue => {
  const { client, name } = table;
  const getAll = createBatchReader(table);

  const queues = createLeasedQueues(
    table,
    ({ application, destination }: DestinationReference) => keys.destinationHealth(application, destination),
    shape.text,
  );

  const keyOf = ({ application, destination }: DestinationReference, delivery: Delivery): Key =>
    delivery.kind === "account"
      ? keys.delivery(application, destination, delivery.account)
      : keys.requestDelivery(application, destination, delivery.message.identifier);

  /** No newer version has taken the delivery's place. */
  const unchanged = (delivery: Delivery): Condition =>
    delivery.kind === "account" ? versionUnchanged(delivery.version) : present;

  return {
    waiting: async function* ({ application, destination }, perPage) {
      const query = { pk: partitions.destination(application, destination), itemsPerPage: perPage };
      // The pages include the destination's health, which is not a delivery.
      for await (const page of queryPages(table, query))
        yield knownItems(deliveryItem, page).map(fromDeliveryItem);
    },

    changesAt: async (application, places) => {
      const found = await getAll(places.map((place) => keys.change(application, place)));
      return places.map((place) => {
        const item = found.get(keyText(keys.change(application, place)));
        return item === undefined ? null : fromChangeItem(place.day, item);
      });
    },

    ...queues,
    resume: (reference) => queues.resume(reference, HEALTHY),

    remove: async (reference, delivery) => {
      const Key = { ...keyOf(reference, delivery) };
      // The teller's transaction may be writing a newer version.
      await unlessChanged(() =>
        client.send(new DeleteCommand({ TableName: name, Key, ...unchanged(delivery) })),
      );
    },

    retry: async (reference, delivery, tries, nextTryAt) => {
      const attempted = { tries, nextTryAt } satisfies Partial<Attributes<typeof deliveryItem>>;
      const update = updateOf(name, keyOf(reference, delivery), attempted, unchanged(delivery));
      await unlessChanged(() => client.send(new UpdateCommand(update)));
    },
  };
};
