import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import type { Instant } from "../../entitlements/time.ts";
import { HEALTHY, type Lease, type QueueHealth } from "../../queues/health.ts";
import { leaseIsFree, leaseIsOf, queueIsPaused, type Condition } from "../dynamodb/conditions.ts";
import type { Key } from "../keys.ts";
import { readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { parseItem, type Item, type Table } from "../dynamodb/table.ts";
import { unlessChanged, update, write } from "../dynamodb/writes.ts";

/** Attributes of a lease. Only conditions read them. */
export interface LeaseAttributes {
  readonly leaseUntil: Instant;
  readonly worker: string;
}

/**
 * Takes the lease of an item, or extends the worker's own. Other attributes stay.
 *
 * @returns the item; null: another worker has it, or its queue is paused
 */
export const takeLease = async (
  { client, name: TableName }: Table,
  key: Key,
  { worker, until }: Lease,
  moment: Instant,
): Promise<Item | null> => {
  const leased = { leaseUntil: until, worker } satisfies LeaseAttributes;
  const { Update } = update(key, leased, leaseIsFree(worker, moment));
  // A transaction that writes the item belongs to the worker that holds the lease.
  const taken = await unlessChanged(() =>
    client.send(new UpdateCommand({ TableName, ...Update, ReturnValues: "ALL_NEW" })),
  );
  return taken === null ? null : (taken.Attributes ?? {});
};

const setHealth = async (
  table: Table,
  key: Key,
  attributes: Partial<QueueHealth & LeaseAttributes>,
  condition: Condition,
): Promise<void> => {
  await unlessChanged(() => write(table, update(key, attributes, condition)));
};

/** Ends a lease. Another worker may have taken it after it ran out: then nothing is written. */
export const releaseLease = async (
  table: Table,
  key: Key,
  { worker }: Pick<Lease, "worker">,
  health: Partial<QueueHealth> = {},
): Promise<void> => setHealth(table, key, { ...health, leaseUntil: 0 }, leaseIsOf(worker));

/** Queues that one worker at a time works off, each with an item for its lease and health. */
export const createLeasedQueues = <Queue, Reason extends string>(
  table: Table,
  keyOf: (queue: Queue) => Key,
  reason: () => z.ZodMiniType<Reason, Reason>,
) => {
  /** Absent values are those of a healthy queue. */
  const healthItem = () =>
    z.object({
      failures: shape.optional(shape.integer(), HEALTHY.failures),
      because: shape.optional(z.nullable(reason()), HEALTHY.because),
      failingSince: shape.optional(shape.nullableInteger(), HEALTHY.failingSince),
      pausedUntil: shape.optional(shape.integer(), HEALTHY.pausedUntil),
    });
  return {
    healthOf: async (queue: Queue): Promise<QueueHealth<Reason>> =>
      (await readItem(table, keyOf(queue), healthItem)) ?? HEALTHY,

    take: async (queue: Queue, lease: Lease, moment: Instant): Promise<QueueHealth<Reason> | null> => {
      const item = await takeLease(table, keyOf(queue), lease, moment);
      return item === null ? null : parseItem(healthItem, item);
    },

    release: async (queue: Queue, lease: Pick<Lease, "worker">, health: QueueHealth<Reason>): Promise<void> =>
      releaseLease(table, keyOf(queue), lease, health),

    /** Sets the health of a queue that is paused. */
    resume: async (queue: Queue, health: Partial<QueueHealth<Reason>>): Promise<void> =>
      setHealth(table, keyOf(queue), health, queueIsPaused),
  };
};
