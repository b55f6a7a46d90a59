import { DeleteCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../once.ts";
import type { Delivery, DeliveryQueue, DestinationReference } from "../telling/delivery-queue.ts";
import { TAKING, type DestinationHealth } from "../telling/destination-health.ts";
import { createBatchReader } from "./batch-reader.ts";
import { fromChangeItem } from "./change-items.ts";
import {
  leaseIsFree,
  leaseIsOf,
  present,
  queueIsPaused,
  versionUnchanged,
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
import { unlessChanged } from "./transactions.ts";
import { updateOf, type TransactItem } from "./writes.ts";

/** Lease and health of a destination; absent values are those of a healthy one without a lease. */
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

  const updateUnlessChanged = async (update: NonNullable<TransactItem["Update"]>): Promise<void> => {
    await unlessChanged(() => client.send(new UpdateCommand(update)));
  };

  const healthKeyOf = ({ application, destination }: DestinationReference): Key =>
    destinationHealthKey(application, destination);

  const keyOf = ({ application, destination }: DestinationReference, delivery: Delivery): Key =>
    delivery.kind === "account"
      ? deliveryKey(application, destination, delivery.account)
      : requestDeliveryKey(application, destination, delivery.message.identifier);

  /** No newer version has taken the delivery's place. */
  const unchanged = (delivery: Delivery): Condition =>
    delivery.kind === "account" ? versionUnchanged(delivery.version) : present;

  return {
    waiting: async function* ({ application, destination }, perPage) {
      const query = { pk: destinationPartition(application, destination), itemsPerPage: perPage };
      // The pages include the destination's health, which is not a delivery.
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
      const taken = await unlessChanged(() =>
        client.send(new UpdateCommand({ ...update, ReturnValues: "ALL_NEW" })),
      );
      return taken === null ? null : healthIn(taken.Attributes ?? {});
    },

    release: async (reference, worker, health) => {
      const released = { ...health, leaseUntil: 0 } satisfies Attributes<typeof healthItem>;
      // Another worker may have taken the destination after the lease ran out.
      await updateUnlessChanged(updateOf(name, healthKeyOf(reference), released, leaseIsOf(worker)));
    },

    resume: async (reference) => {
      const resumed = { ...TAKING } satisfies Attributes<typeof healthItem>;
      await updateUnlessChanged(updateOf(name, healthKeyOf(reference), resumed, queueIsPaused));
    },

    remove: async (reference, delivery) => {
      const Key = { ...keyOf(reference, delivery) };
      // The teller's transaction may be writing a newer version.
      await unlessChanged(() =>
        client.send(new DeleteCommand({ TableName: name, Key, ...unchanged(delivery) })),
      );
    },

    retry: async (reference, delivery, tries, nextTryAt) =>
      updateUnlessChanged(
        updateOf(name, keyOf(reference, delivery), { tries, nextTryAt }, unchanged(delivery)),
      ),
  };
};
