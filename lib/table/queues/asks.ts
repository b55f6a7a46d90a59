import * as z from "zod/mini";
import {
  bundleOrPackageOf,
  KEPT_AFTER_DUE,
  type AskSource,
  type DueAsk,
} from "../../customers/asking/ask.ts";
import { PAUSE_REASONS, type Asked, type AskQueues } from "../../customers/asking/ask-queue.ts";
import type { StoreInEnvironment } from "../../customers/asking/store-in-environment.ts";
import { epochSeconds } from "../../duration.ts";
import type { NextAsk } from "../../entitlements/next-ask.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { askUnchanged, revisionUnchanged, type Condition } from "../dynamodb/conditions.ts";
import { askItem } from "../customers/items.ts";
import { keys, partitions, sortKeys } from "../keys.ts";
import { TABLE } from "../dynamodb/key.ts";
import { createLeasedQueues } from "./lease.ts";
import { queryPages } from "../dynamodb/query.ts";
import {
  knownItems,
  parseItem,
  readItem,
  type Attributes,
  type Table,
  type TimeToLive,
} from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";
import { deletion, put, updateOf, type TransactItem } from "../dynamodb/writes.ts";

const queueOf = (
  application: ApplicationId,
  { store, environment }: PurchaseReference,
  bundleOrPackage: string,
): StoreInEnvironment => ({ application, store, environment, bundleOrPackage });

/** A purchase's attributes of its question; undefined ones are removed. */
export const askAttributes = (ask: NextAsk | null) => ({ askAt: ask?.at, askBecause: ask?.because });

/** Change of a purchase's place in its queue. */
export interface AskMove {
  readonly from: Instant | null;
  /** Null: it leaves the queue. */
  readonly to: (Pick<DueAsk, "acknowledgement" | "source"> & { readonly ask: NextAsk }) | null;
}

const askPut = (
  table: string,
  queue: StoreInEnvironment,
  { environment, key }: PurchaseReference,
  { ask, source, acknowledgement }: NonNullable<AskMove["to"]>,
): TransactItem =>
  put(table, keys.ask(queue, key, ask.at), {
    environment,
    key,
    dueAt: ask.at,
    because: ask.because,
    source,
    ...(acknowledgement !== null && { acknowledgement }),
    [TABLE.timeToLiveAttribute]: epochSeconds(ask.at + KEPT_AFTER_DUE),
  } satisfies Attributes<typeof askItem> & TimeToLive);

/** Writes that move a purchase in its queue, in the transaction of its facts. */
export const askWrites = (
  table: string,
  application: ApplicationId,
  purchase: PurchaseReference,
  bundleOrPackage: string,
  { from, to }: AskMove,
): TransactItem[] => {
  const queue = queueOf(application, purchase, bundleOrPackage);
  return [
    // A transaction writes an item once: one that keeps its time is replaced.
    ...(from === null || from === to?.ask.at ? [] : [deletion(table, keys.ask(queue, purchase.key, from))]),
    ...(to === null ? [] : [askPut(table, queue, purchase, to)]),
  ];
};

export const createAskQueues = (table: Table): AskQueues => {
  const { name } = table;
  const leased = createLeasedQueues(table, keys.askState, () => z.enum(PAUSE_REASONS));

  /** Updates a purchase's record of its question, and its item. Facts that were read before are then out of date. */
  const update = async (
    application: ApplicationId,
    purchase: PurchaseReference,
    bundleOrPackage: string,
    attributes: object,
    condition: Condition,
    move: AskMove,
  ) => {
    const record = updateOf(name, keys.purchase(application, purchase), attributes, condition);
    const raised = {
      ...record,
      UpdateExpression: `${record.UpdateExpression} ADD revision :one`,
      ExpressionAttributeValues: { ...record.ExpressionAttributeValues, ":one": 1 },
    };
    return transact(table, [
      { Update: raised },
      ...askWrites(name, application, purchase, bundleOrPackage, move),
    ]);
  };

  const dueIn = async (
    queue: StoreInEnvironment,
    moment: Instant,
    limit: number,
  ): Promise<readonly DueAsk[]> => {
    const { application, store } = queue;
    const query = {
      pk: partitions.ask(queue),
      sortKeyBefore: sortKeys.afterDueBy(moment),
      itemsPerPage: limit,
    };
    const due: DueAsk[] = [];
    for await (const page of queryPages(table, query)) {
      for (const { environment, key, acknowledgement = null, ...ask } of knownItems(askItem, page))
        due.push({ application, purchase: { store, environment, key }, acknowledgement, ...ask });
      // Items of an unknown shape must not hide those behind them.
      if (due.length >= limit) break;
    }
    return due.slice(0, limit);
  };

  return {
    of: (queue) => ({
      due: (moment, limit) => dueIn(queue, moment, limit),
      take: (lease, moment) => leased.take(queue, lease, moment),
      release: (lease, health) => leased.release(queue, lease, health),
    }),
    healthOf: leased.healthOf,
    resume: (queue) => leased.resume(queue, { pausedUntil: 0 }),

    sourceOf: async (application, { purchase, ask, bundleOrPackage }: Asked): Promise<AskSource | null> => {
      if (ask === null || bundleOrPackage === null) return null;
      const item = await readItem(
        table,
        keys.ask(queueOf(application, purchase, bundleOrPackage), purchase.key, ask.at),
      );
      return item === undefined ? null : parseItem(askItem, item).source;
    },

    move: async ({ application, purchase, dueAt, source, acknowledgement }, ask) => {
      const place = bundleOrPackageOf(source);
      const to = ask === null ? null : { ask, source, acknowledgement };
      const moved = await update(application, purchase, place, askAttributes(ask), askUnchanged(dueAt), {
        from: dueAt,
        to,
      });
      if (moved.outcome === "written") return;
      if (!moved.failed.has(0)) throw moved.cause;
      // The purchase is gone, or its question has moved: this item is a leftover.
      const left = deletion(name, keys.ask(queueOf(application, purchase, place), purchase.key, dueAt));
      await transact(table, [left]);
    },

    set: async (application, { purchase, revision, ask: before, acknowledgement }, ask, source) => {
      const place = bundleOrPackageOf(source);
      const attributes = { ...askAttributes(ask), bundleOrPackage: place };
      const { outcome } = await update(
        application,
        purchase,
        place,
        attributes,
        revisionUnchanged(revision),
        { from: before?.at ?? null, to: { ask, source, acknowledgement } },
      );
      return outcome;
    },

    acknowledged: async (application, { purchase, ask }, source, to) => {
      if (ask === null) return;
      const attributes = { acknowledgement: undefined, ...askAttributes(to) };
      await update(application, purchase, bundleOrPackageOf(source), attributes, askUnchanged(ask.at), {
        from: ask.at,
        to: to === null ? null : { ask: to, source, acknowledgement: null },
      });
    },
  };
};
