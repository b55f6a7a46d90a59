import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { HEALTHY, type Lease, type QueueHealth } from "../../queues/health.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { leaseIsFree, leaseIsOf, queueIsPaused, type Condition } from "../dynamodb/conditions.ts";
import type { Key } from "../dynamodb/key.ts";
import * as shape from "../dynamodb/shapes.ts";
import { parseItem, readItem, type Attributes, type Item, type Table } from "../dynamodb/table.ts";
import { unlessChanged } from "../dynamodb/transactions.ts";
import { updateOf } from "../dynamodb/writes.ts";

/** Attributes of a lease. Only conditions read them. */
export interface LeaseAttributes {
  readonly leaseUntil: Instant;
  readonly worker: string;
}

/** Health of a queue; absent values are those of a healthy one. */
const healthItemOf = <Reason extends string>(reason: z.ZodMiniType<Reason, Reason>) =>
  z.object({
    failures: z.optional(shape.integer()),
    because: z.optional(z.nullable(reason)),
    failingSince: z.optional(shape.nullableInteger()),
    pausedUntil: z.optional(shape.integer()),
  });
type HealthAttributes = Attributes<() => ReturnType<typeof healthItemOf<string>>>;

/**
 * Takes the lease of an item, or extends the worker's own. Other attributes stay.
 *
 * @returns the item; null: another worker has it, or its queue is paused
 */
export const takeLease = async (
  { client, name }: Table,
  key: Key,
  { worker, until }: Lease,
  moment: Instant,
): Promise<Item | null> => {
  const leased = { leaseUntil: until, worker } satisfies LeaseAttributes;
  const update = updateOf(name, key, leased, leaseIsFree(worker, moment));
  // A transaction that writes the item belongs to the worker that holds the lease.
  const taken = await unlessChanged(() =>
    client.send(new UpdateCommand({ ...update, ReturnValues: "ALL_NEW" })),
  );
  return taken === null ? null : (taken.Attributes ?? {});
};

const setHealth = async (
  { client, name }: Table,
  key: Key,
  attributes: HealthAttributes & Partial<LeaseAttributes>,
  condition: Condition,
): Promise<void> => {
  const update = updateOf(name, key, attributes, condition);
  await unlessChanged(() => client.send(new UpdateCommand(update)));
};

/** Ends a lease. Another worker may have taken it after it ran out: then nothing is written. */
export const releaseLease = async (
  table: Table,
  key: Key,
  { worker }: Pick<Lease, "worker">,
  health: Partial<QueueHealth<string>> = {},
): Promise<void> => setHealth(table, key, { ...health, leaseUntil: 0 }, leaseIsOf(worker));

/** Queues that one worker at a time works off. Each has an item for its lease and its health. */
export const createLeasedQueues = <Queue, Reason extends string>(
  table: Table,
  keyOf: (queue: Queue) => Key,
  reason: () => z.ZodMiniType<Reason, Reason>,
) => {
  const schema = once(() => healthItemOf(reason()));
  const healthIn = (item: Item): QueueHealth<Reason> => {
    const { failures, because, failingSince, pausedUntil } = parseItem(schema, item);
    return {
      failures: failures ?? HEALTHY.failures,
      because: because ?? HEALTHY.because,
      failingSince: failingSince ?? HEALTHY.failingSince,
      pausedUntil: pausedUntil ?? HEALTHY.pausedUntil,
    };
  };
  return {
    healthIn,

    healthOf: async (queue: Queue): Promise<QueueHealth<Reason>> => {
      const item = await readItem(table, keyOf(queue));
      return item === undefined ? HEALTHY : healthIn(item);
    },

    take: async (queue: Queue, lease: Lease, moment: Instant): Promise<QueueHealth<Reason> | null> => {
      const item = await takeLease(table, keyOf(queue), lease, moment);
      return item === null ? null : healthIn(item);
    },

    release: async (queue: Queue, lease: Pick<Lease, "worker">, health: QueueHealth<Reason>): Promise<void> =>
      releaseLease(table, keyOf(queue), lease, health),

    /** Sets the health of a queue that is paused. */
    resume: async (queue: Queue, health: Partial<QueueHealth<Reason>>): Promise<void> =>
      setHealth(table, keyOf(queue), health, queueIsPaused),
  };
};
