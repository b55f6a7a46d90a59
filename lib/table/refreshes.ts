import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import type { RefreshQueue } from "../customers/refresh-queue.ts";
import { epochSeconds } from "../duration.ts";
import { HEALTHY, type QueueHealth } from "../freshness/queue-health.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { DueRefresh, PlannedRefresh, RefreshMove } from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import { once } from "../once.ts";
import { leaseIsFree, leaseIsOf, queueIsPaused, refreshUnchanged, revisionUnchanged } from "./conditions.ts";
import { refreshItem } from "./items.ts";
import { afterDueBy, keys, refreshKey, refreshPartition, refreshStateKey, TABLE } from "./keys.ts";
import { queryPages } from "./query.ts";
import * as shape from "./shapes.ts";
import { knownItems, parseItem, readItem, type Attributes, type Table } from "./table.ts";
import { transact, unlessChanged } from "./transactions.ts";
import { deletion, put, updateOf, type TransactItem } from "./writes.ts";

/** Time after its due time at which a refresh expires, so that a token is not kept if nothing processes the queue. */
const KEPT_AFTER_DUE_SECONDS = 120 * 24 * 3600;

const refreshPut = (
  table: string,
  application: ApplicationId,
  purchase: PurchaseReference,
  { at, source }: PlannedRefresh,
): TransactItem =>
  put(table, refreshKey(application, purchase, at), {
    environment: purchase.environment,
    key: purchase.key,
    dueAt: at,
    source,
    [TABLE.timeToLiveAttribute]: epochSeconds(at) + KEPT_AFTER_DUE_SECONDS,
  } satisfies Attributes<typeof refreshItem> & Record<typeof TABLE.timeToLiveAttribute, number>);

/** Writes that move a purchase's refresh, in the transaction of its facts. */
export const refreshWrites = (
  table: string,
  application: ApplicationId,
  purchase: PurchaseReference,
  { from, to }: RefreshMove,
): TransactItem[] => [
  ...(from === null ? [] : [deletion(table, refreshKey(application, purchase, from))]),
  ...(to === null ? [] : [refreshPut(table, application, purchase, to)]),
];

/** Lease and health of a queue; absent values are those of a healthy queue without a lease. */
const stateItem = once(() =>
  z.object({
    failures: z.optional(shape.integer()),
    because: z.optional(z.nullable(z.enum(["unavailable", "credential-rejected"]))),
    failingSince: z.optional(shape.nullableInteger()),
    pausedUntil: z.optional(shape.integer()),
    leaseUntil: z.optional(shape.integer()),
    worker: z.optional(shape.text()),
  }),
);

const healthIn = (item: Record<string, unknown>): QueueHealth => {
  const { failures, because, failingSince, pausedUntil } = parseItem(stateItem, item);
  return {
    failures: failures ?? HEALTHY.failures,
    because: because ?? HEALTHY.because,
    failingSince: failingSince ?? HEALTHY.failingSince,
    pausedUntil: pausedUntil ?? HEALTHY.pausedUntil,
  };
};

export const createRefreshQueue = (table: Table): RefreshQueue => {
  const { client, name } = table;

  const updateUnlessChanged = async (update: NonNullable<TransactItem["Update"]>): Promise<void> => {
    await unlessChanged(() => client.send(new UpdateCommand(update)));
  };

  const movedTo = (
    { application, purchase, dueAt, source }: DueRefresh,
    to: Instant | null,
  ): TransactItem[] =>
    refreshWrites(name, application, purchase, { from: dueAt, to: to === null ? null : { at: to, source } });

  return {
    due: async (queue, moment, limit) => {
      const { application, store } = queue;
      const query = {
        pk: refreshPartition(queue),
        sortKeyBefore: afterDueBy(moment),
        itemsPerPage: limit,
      };
      const due: DueRefresh[] = [];
      for await (const page of queryPages(table, query)) {
        for (const { environment, key, dueAt, source } of knownItems(refreshItem, page))
          due.push({ application, purchase: { store, environment, key }, dueAt, source });
        // Items of an unknown shape must not hide those behind them.
        if (due.length >= limit) break;
      }
      return due.slice(0, limit);
    },

    healthOf: async (queue) => {
      const item = await readItem(table, refreshStateKey(queue));
      return item === undefined ? HEALTHY : healthIn(item);
    },

    sourceOf: async (application, purchase, dueAt) => {
      const item = await readItem(table, refreshKey(application, purchase, dueAt));
      return item === undefined ? null : parseItem(refreshItem, item).source;
    },

    resume: async (queue) => {
      const resumed = { pausedUntil: 0 } satisfies Attributes<typeof stateItem>;
      await updateUnlessChanged(updateOf(name, refreshStateKey(queue), resumed, queueIsPaused));
    },

    take: async (queue, { worker, until }, moment) => {
      const leased = { leaseUntil: until, worker } satisfies Attributes<typeof stateItem>;
      const update = updateOf(name, refreshStateKey(queue), leased, leaseIsFree(worker, moment));
      const taken = await unlessChanged(() =>
        client.send(new UpdateCommand({ ...update, ReturnValues: "ALL_NEW" })),
      );
      return taken === null ? null : healthIn(taken.Attributes ?? {});
    },

    release: async (queue, { worker }, health) => {
      const released = { ...health, leaseUntil: 0 } satisfies Attributes<typeof stateItem>;
      // Another worker may have taken the queue after the lease ran out.
      await updateUnlessChanged(updateOf(name, refreshStateKey(queue), released, leaseIsOf(worker)));
    },

    move: async (due, to) => {
      const { application, purchase, dueAt } = due;
      const record: TransactItem = {
        Update: {
          TableName: name,
          Key: { ...keys.purchase(application, purchase) },
          ...(to === null
            ? { UpdateExpression: "REMOVE refreshAt ADD revision :one" }
            : { UpdateExpression: "SET refreshAt = :to ADD revision :one" }),
          ...refreshUnchanged(dueAt, { ":one": 1, ...(to !== null && { ":to": to }) }),
        },
      };
      const moved = await transact(table, [record, ...movedTo(due, to)]);
      if (moved.outcome === "written") return;
      if (!moved.failed.has(0)) throw moved.cause;
      // The purchase is gone, or its refresh was moved: this entry is a leftover.
      const left = await transact(table, movedTo(due, null));
      if (left.outcome === "conflict") throw left.cause;
    },

    set: async (application, { purchase, revision, refreshAt }, { dueAt, source }) => {
      const record: TransactItem = {
        Update: {
          TableName: name,
          Key: { ...keys.purchase(application, purchase) },
          UpdateExpression: "SET refreshAt = :to ADD revision :one",
          ...revisionUnchanged(revision),
          ExpressionAttributeValues: {
            ...revisionUnchanged(revision).ExpressionAttributeValues,
            ":to": dueAt,
            ":one": 1,
          },
        },
      };
      const from = refreshAt === dueAt ? null : refreshAt;
      const { outcome } = await transact(table, [
        record,
        ...refreshWrites(name, application, purchase, { from, to: { at: dueAt, source } }),
      ]);
      return outcome;
    },
  };
};
