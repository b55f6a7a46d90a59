import { DeleteCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Forward,
  type ForwardQueue,
  type ForwardReference,
} from "../../delivery/forward-queue.ts";
import { epochSeconds } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { present } from "../dynamodb/conditions.ts";
import { keys, partitions, prefixes, sortKeys } from "../keys.ts";
import { TABLE } from "../dynamodb/key.ts";
import { createLeasedQueues } from "../queues/lease.ts";
import { queryPages } from "../dynamodb/query.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, type Attributes, type Table, type TimeToLive } from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";
import { deletion, put } from "../dynamodb/writes.ts";

export const forwardItem = once(() =>
  z.object({
    identifier: shape.text(),
    body: shape.text(),
    contentType: shape.text(),
    since: shape.integer(),
    tries: shape.integer(),
    nextTryAt: shape.integer(),
  }),
);

const attributesOf = ({ identifier, body, contentType, since, tries, nextTryAt }: Forward) =>
  ({
    identifier,
    body,
    contentType,
    since,
    tries,
    nextTryAt,
    [TABLE.timeToLiveAttribute]: epochSeconds(since + FORWARDS_KEPT_MILLISECONDS),
  }) satisfies Attributes<typeof forwardItem> & TimeToLive;

/** Items counted for an operator: each may have 64 KB. */
const MOST_COUNTED = 1000;

/** The item of a notification is named by its next attempt, so that finding what is due costs no more the more waits. */
export const createForwardQueue = (table: Table): ForwardQueue => {
  const { client, name: TableName } = table;
  const queues = createLeasedQueues(table, keys.forwardHealth, shape.text);

  const firstOf = async (
    bundle: ForwardReference,
    range: { readonly sortKeyBefore: string } | { readonly sortKeyPrefix: string },
    limit: number,
  ): Promise<readonly Forward[]> => {
    const query = { pk: partitions.forward(bundle), ...range, itemsPerPage: limit };
    const found: Forward[] = [];
    for await (const page of queryPages(table, query)) {
      found.push(...knownItems(forwardItem, page));
      // Items of an unknown shape must not hide those behind them.
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  };

  return {
    add: async (bundle, forward) => {
      const Item = { ...keys.forward(bundle, forward), ...attributesOf(forward) };
      await client.send(new PutCommand({ TableName, Item }));
    },

    due: async (bundle, moment, limit) =>
      firstOf(bundle, { sortKeyBefore: sortKeys.afterForwardsBy(moment) }, limit),

    waiting: async (bundle) => {
      const found = await firstOf(bundle, { sortKeyPrefix: prefixes.forward }, MOST_COUNTED + 1);
      const counted = found.slice(0, MOST_COUNTED);
      const since = counted.reduce<Instant | null>(
        (oldest, one) => Math.min(oldest ?? Infinity, one.since),
        null,
      );
      return { count: counted.length, isMore: found.length > MOST_COUNTED, since };
    },

    healthOf: queues.healthOf,
    take: queues.take,
    release: queues.release,

    remove: async (bundle, forward) => {
      await client.send(new DeleteCommand({ TableName, Key: { ...keys.forward(bundle, forward) } }));
    },

    retry: async (bundle, forward, tries, nextTryAt) => {
      const later: Forward = { ...forward, tries, nextTryAt };
      const moved = await transact(table, [
        deletion(TableName, keys.forward(bundle, forward), present),
        put(TableName, keys.forward(bundle, later), attributesOf(later)),
      ]);
      if (moved.outcome === "conflict" && !moved.failed.has(0)) throw moved.cause;
    },
  };
};
