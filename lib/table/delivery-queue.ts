import { DeleteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../once.ts";
import type { Delivery, DeliveryQueue, DestinationReference } from "../telling/delivery-queue.ts";
import { TAKING, type DestinationHealth } from "../telling/destination-health.ts";
import { createBatchReader } from "./batch-reader.ts";
import { fromChangeItem } from "./change-items.ts";
import {
  deliveryUnchanged,
  leaseIsFree,
  leaseIsOf,
  present,
  queueIsPaused,
  type Condition,
} from "./conditions.ts";
import { fromDeliveryItem, deliveryItem } from "./deliveries.ts";
import {
  changeKey,
  deliveryKey,
  destinationHealthKey,
  destinationPartition,
  keyText,
  requestDeliveryKey,
  type Key,
} from "./keys.ts";
import { queryPages } from "./query.ts";
import * as shape from "./shapes.ts";
import { knownItems, parseItem, readItem, type Attributes, type Table } from "./table.ts";
import { isChangedMeanwhile } from "./transactions.ts";
import { updateOf, type TransactItem } from "./writes.ts";

/** Lease and health of a destination; absent values are those of one that takes messages. */
const healthItem = once(() =>
  z.object({
    failures: z.optional(shape.integer()),
    failingSince: z.optional(shape.nullableInteger()),
    because: z.optional(shape.nullableText()),
    pausedUntil: z.optional(shape.integer()),
    leaseUntil: z.optional(shape.integer()),
    worker: z.optional(shape.text()),
  }),
);

const healthIn = (item: Record<string, unknown>): DestinationHealth => {
  const { failures, failingSince, because, pausedUntil } = parseItem(healthItem, item);
  return {
    failures: failures ?? TAKING.failures,
    failingSince: failingSince ?? TAKING.failingSince,
    because: because ?? TAKING.because,
    pausedUntil: pausedUntil ?? TAKING.pausedUntil,
  };
};

export const createDeliveryQueue = (
  table: Table,
  pause: (attempt: number) => Promise<void>,
): DeliveryQueue => {
  const { client, name } = table;
  const getAll = createBatchReader(table, pause);

  /** Sends a write that may fail because of a concurrent one, such as the teller's of a newer version. */
  const unlessChanged = async (write: () => Promise<unknown>): Promise<void> => {
    try {
      await write();
    } catch (error) {
      if (!isChangedMeanwhile(error)) throw error;
    }
  };
  const updateIf = async (update: NonNullable<TransactItem["Update"]>): Promise<void> =>
    unlessChanged(() => client.send(new UpdateCommand(update)));

  const healthKeyOf = ({ application, destination }: DestinationReference): Key =>
    destinationHealthKey(application, destination);

  const keyOf = ({ application, destination }: DestinationReference, delivery: Delivery): Key =>
    delivery.kind === "account"
      ? deliveryKey(application, destination, delivery.account)
      : requestDeliveryKey(application, destination, delivery.message.identifier);

  const unchanged = (delivery: Delivery): Condition =>
    delivery.kind === "account" ? deliveryUnchanged(delivery.version) : present;

  return {
    waiting: async function* ({ application, destination }, perPage) {
      const query = { pk: destinationPartition(application, destination), itemsPerPage: perPage };
      // The destination's health is among them, and no delivery.
      for await (const page of queryPages(table, query))
        yield knownItems(deliveryItem, page).map(fromDeliveryItem);
    },

    changesAt: async (application, places) => {
      const found = await getAll(places.map((place) => changeKey(application, place)));
      return places.map((place) => {
        const item = found.get(keyText(changeKey(application, place)));
        return item === undefined ? null : fromChangeItem(place.day, item);
      });
    },

    healthOf: async (reference) => {
      const item = await readItem(table, healthKeyOf(reference));
      return item === undefined ? TAKING : healthIn(item);
    },

    take: async (reference, worker, until, moment) => {
      const leased = { leaseUntil: until, worker } satisfies Attributes<typeof healthItem>;
      const update = updateOf(name, healthKeyOf(reference), leased, leaseIsFree(worker, moment));
      try {
        const { Attributes: item = {} } = await client.send(
          new UpdateCommand({ ...update, ReturnValues: "ALL_NEW" }),
        );
        return healthIn(item);
      } catch (error) {
        if (isChangedMeanwhile(error)) return null;
        throw error;
      }
    },

    release: async (reference, worker, health) => {
      const released = { ...health, leaseUntil: 0 } satisfies Attributes<typeof healthItem>;
      // Another worker may have taken the destination after the lease ran out.
      await updateIf(updateOf(name, healthKeyOf(reference), released, leaseIsOf(worker)));
    },

    resume: async (reference) => {
      const resumed = { ...TAKING } satisfies Attributes<typeof healthItem>;
      await updateIf(updateOf(name, healthKeyOf(reference), resumed, queueIsPaused));
    },

    remove: async (reference, delivery) =>
      unlessChanged(() =>
        client.send(
          new DeleteCommand({
            TableName: name,
            Key: { ...keyOf(reference, delivery) },
            ...unchanged(delivery),
          }),
        ),
      ),

    retry: async (reference, delivery, tries, nextTryAt) =>
      updateIf(updateOf(name, keyOf(reference, delivery), { tries, nextTryAt }, unchanged(delivery))),
  };
};
