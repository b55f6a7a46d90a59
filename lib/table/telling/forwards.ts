import * as z from "zod/mini";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Forward,
  type ForwardQueue,
  type ForwardReference,
} from "../../delivery/delivery-queue.ts";
import { once } from "../../once.ts";
import { present } from "../dynamodb/conditions.ts";
import { firstKnownItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { deletion, put, transact, write } from "../dynamodb/writes.ts";
import { keys, partitions, prefixes, sortKeys } from "../keys.ts";
import { createLeasedQueues } from "../queues/lease.ts";

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

/** The item of a notification is named by its next attempt, so that finding what is due costs no more the more waits. */
const forwardPut = (bundle: ForwardReference, forward: Forward) => {
  const { identifier, body, contentType, since, tries, nextTryAt } = forward;
  const attributes: Attributes<typeof forwardItem> = {
    identifier,
    body,
    contentType,
    since,
    tries,
    nextTryAt,
  };
  return put(keys.forward(bundle, forward), { ...attributes, ...expiry(since + FORWARDS_KEPT_MILLISECONDS) });
};

/** Items counted for an operator: each may have 64 KB. */
const MOST_COUNTED = 1000;

export const createForwardQueue = (table: Table): ForwardQueue => {
  const { healthOf, take, release } = createLeasedQueues(table, keys.forwardHealth, shape.text);
  return {
    healthOf,
    take,
    release,

    add: (bundle, forward) => write(table, forwardPut(bundle, forward)),

    due: (bundle, moment, limit) => {
      const range = { pk: partitions.forward(bundle), sortKeyBefore: sortKeys.afterForwardsBy(moment) };
      return firstKnownItems(table, range, forwardItem, limit);
    },

    waiting: async (bundle) => {
      const range = { pk: partitions.forward(bundle), sortKeyPrefix: prefixes.forward };
      const found = await firstKnownItems(table, range, forwardItem, MOST_COUNTED + 1);
      const counted = found.slice(0, MOST_COUNTED);
      const since = counted.length === 0 ? null : Math.min(...counted.map(({ since }) => since));
      return { count: counted.length, isMore: found.length > MOST_COUNTED, since };
    },

    remove: (bundle, forward) => write(table, deletion(keys.forward(bundle, forward))),

    retry: async (bundle, forward, tries, nextTryAt) => {
      const moved = await transact(table, [
        deletion(keys.forward(bundle, forward), present),
        forwardPut(bundle, { ...forward, tries, nextTryAt }),
      ]);
      if (moved.outcome === "conflict" && !moved.failed.has(0)) throw moved.cause;
    },
  };
};
