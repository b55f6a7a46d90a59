import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import type { RefreshQueue, RefreshQueueHealth } from "../customers/refresh-queue.ts";
import { epochSeconds } from "../duration.ts";
import { PAUSE_REASONS } from "../freshness/queue-health.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import {
  KEPT_AFTER_DUE,
  type DueRefresh,
  type PlannedRefresh,
  type RefreshMove,
} from "../freshness/refresh.ts";
import type { ApplicationId } from "../identifiers.ts";
import { once } from "../once.ts";
import { compare } from "../order.ts";
import { refreshMoved, refreshUnchanged, refreshUnaskedSince, revisionUnchanged } from "./conditions.ts";
import { refreshItem } from "./items.ts";
import { afterDueBy, keys, refreshKey, refreshPartition, refreshStateKey, TABLE } from "./keys.ts";
import { createLeasedQueues, releaseLease, takeLease, type LeaseAttributes } from "./lease.ts";
import { queryPages } from "./query.ts";
import {
  knownItems,
  parseItem,
  readItem,
  type Attributes,
  type Item,
  type Table,
  type TimeToLive,
} from "./table.ts";
import { transact, unlessChanged } from "./transactions.ts";
import { check, deletion, put, updateOf, type TransactItem } from "./writes.ts";

const refreshPut = (
  table: string,
  application: ApplicationId,
  purchase: PurchaseReference,
  { at, source, dueSince }: PlannedRefresh,
): TransactItem =>
  put(table, refreshKey(application, purchase, at), {
    environment: purchase.environment,
    key: purchase.key,
    dueAt: at,
    source,
    ...(dueSince !== undefined && { dueSince }),
    [TABLE.timeToLiveAttribute]: epochSeconds(at + KEPT_AFTER_DUE),
  } satisfies Attributes<typeof refreshItem> & TimeToLive);

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

export const createRefreshQueue = (table: Table): RefreshQueue => {
  const { name } = table;

  /** Health of each bundle or package that fails, in the state of a queue. */
  const healthByName = once(() =>
    z.object({ byName: z.optional(z.record(z.string(), z.record(z.string(), z.unknown()))) }),
  );
  const queues = createLeasedQueues(table, refreshStateKey, () => z.enum(PAUSE_REASONS));
  const healthsIn = (item: Item): RefreshQueueHealth => ({
    ...queues.healthIn(item),
    byName: new Map(
      Object.entries(parseItem(healthByName, item).byName ?? {})
        .toSorted(([a], [b]) => compare(a, b))
        .map(([bundleOrPackage, health]) => [bundleOrPackage, queues.healthIn(health)]),
    ),
  });

  const moveTo = async (
    { application, purchase, dueAt }: DueRefresh,
    to: PlannedRefresh | null,
    askedAt: Instant | null,
  ): Promise<"settled" | "asked-again"> => {
    const unchanged = askedAt === null ? refreshUnchanged(dueAt) : refreshUnaskedSince(dueAt, askedAt);
    const key = keys.purchase(application, purchase);
    const record: TransactItem = {
      Update: {
        TableName: name,
        Key: { ...key },
        ...unchanged,
        ...(to === null
          ? { UpdateExpression: "REMOVE refreshAt, askedForAt, askAgainAt ADD revision :one" }
          : { UpdateExpression: "SET refreshAt = :to ADD revision :one" }),
        ExpressionAttributeValues: {
          ...unchanged.ExpressionAttributeValues,
          ":one": 1,
          ...(to !== null && { ":to": to.at }),
        },
      },
    };
    const moving = (there: PlannedRefresh | null) =>
      refreshWrites(name, application, purchase, { from: dueAt, to: there });
    const moved = await transact(table, [record, ...moving(to)]);
    if (moved.outcome === "written") return "settled";
    if (!moved.failed.has(0)) throw moved.cause;
    // The purchase is gone, or its refresh was moved: this entry is a leftover. If it is asked for since, it stays due.
    const left = await transact(table, [check(name, key, refreshMoved(dueAt)), ...moving(null)]);
    if (left.outcome === "written") return "settled";
    if (!left.failed.has(0)) throw left.cause;
    return "asked-again";
  };

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
        for (const { environment, key, ...refresh } of knownItems(refreshItem, page))
          due.push({ application, purchase: { store, environment, key }, ...refresh });
        // Items of an unknown shape must not hide those behind them.
        if (due.length >= limit) break;
      }
      return due.slice(0, limit);
    },

    sourceOf: async (application, purchase, dueAt) => {
      const item = await readItem(table, refreshKey(application, purchase, dueAt));
      return item === undefined ? null : parseItem(refreshItem, item).source;
    },

    healthOf: async (queue) => healthsIn((await readItem(table, refreshStateKey(queue))) ?? {}),
    resume: async (queue) => {
      await queues.resume(queue, { pausedUntil: 0 });
      const ended = { byName: {}, worker: "", leaseUntil: 0 } satisfies LeaseAttributes & { byName: object };
      const update = updateOf(name, refreshStateKey(queue), ended, {
        ConditionExpression: "attribute_exists(byName)",
      });
      await unlessChanged(() => table.client.send(new UpdateCommand(update)));
    },
    take: async (queue, lease, moment) => {
      const item = await takeLease(table, refreshStateKey(queue), lease, moment);
      return item === null ? null : healthsIn(item);
    },
    release: async (queue, lease, { byName, ...health }) =>
      releaseLease(table, refreshStateKey(queue), lease, {
        ...health,
        byName: byName.size === 0 ? undefined : Object.fromEntries(byName),
      }),

    move: (due, to, askedAt) => moveTo(due, to === null ? null : { at: to, source: due.source }, askedAt),
    putOff: (due, until, askedAt) =>
      moveTo(due, { at: until, source: due.source, dueSince: due.dueSince ?? due.dueAt }, askedAt),

    set: async (application, { purchase, revision, refreshAt }, { dueAt, source, askedForAt }) => {
      const record: TransactItem = {
        Update: {
          TableName: name,
          Key: { ...keys.purchase(application, purchase) },
          UpdateExpression: "SET refreshAt = :to, askedForAt = :asked ADD revision :one",
          ...revisionUnchanged(revision),
          ExpressionAttributeValues: {
            ...revisionUnchanged(revision).ExpressionAttributeValues,
            ":to": dueAt,
            ":asked": askedForAt,
            ":one": 1,
          },
        },
      };
      // One that is due by then keeps its item, with the time since which it has been due.
      const moves =
        refreshAt === dueAt
          ? []
          : refreshWrites(name, application, purchase, { from: refreshAt, to: { at: dueAt, source } });
      const { outcome } = await transact(table, [record, ...moves]);
      return outcome;
    },
  };
};
