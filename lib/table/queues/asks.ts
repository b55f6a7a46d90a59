import * as z from "zod/mini";
import { PRODUCT_KINDS } from "../../contract/schemas.ts";
import type { StoreInEnvironment } from "../../customers/application-stores.ts";
import { KEPT_AFTER_DUE, PAUSE_REASONS, type AskQueues, type DueAsk } from "../../customers/asking/ask.ts";
import { bundleOrPackageOf } from "../../customers/storing/records.ts";
import type { NextAsk } from "../../entitlements/next-ask.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { acknowledgement, ask, storedPurchaseKey } from "../customers/items.ts";
import { askUnchanged, revisionUnchanged, type Condition } from "../dynamodb/conditions.ts";
import { firstKnownItems, readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { deletion, put, transact, update, type Write } from "../dynamodb/writes.ts";
import { keys, partitions, sortKeys } from "../keys.ts";
import { createLeasedQueues } from "./lease.ts";

/** A question in its queue. Android's hold the purchase token, until the store drops the purchase. */
export const askItem = () =>
  z.object({
    environment: shape.environment(),
    key: storedPurchaseKey(),
    ask: ask(),
    source: z.discriminatedUnion("store", [
      z.object({
        store: z.literal("android-store"),
        packageName: shape.text(),
        purchaseToken: shape.text(),
        productKind: z.enum(PRODUCT_KINDS),
      }),
      z.object({ store: z.literal("ios-store"), bundleIdentifier: shape.text() }),
    ]),
    acknowledgement: z.nullable(acknowledgement()),
  });

const queueOf = (
  application: ApplicationId,
  { store, environment }: PurchaseReference,
  bundleOrPackage: string,
): StoreInEnvironment => ({ application, store, environment, bundleOrPackage });

/** Change of a purchase's place in its queue. */
interface AskMove {
  readonly from: Instant | null;
  /** Null: it leaves the queue. */
  readonly to: (Pick<DueAsk, "acknowledgement" | "source"> & { readonly ask: NextAsk }) | null;
}

const askPut = (
  queue: StoreInEnvironment,
  { environment, key }: PurchaseReference,
  { ask, source, acknowledgement }: NonNullable<AskMove["to"]>,
) =>
  put(keys.ask(queue, key, ask.at), {
    environment,
    key,
    ask,
    source,
    acknowledgement,
    ...expiry(ask.at + KEPT_AFTER_DUE),
  } satisfies Attributes<typeof askItem>);

/** Writes that move a purchase in its queue, in the transaction of its facts. */
export const askWrites = (
  application: ApplicationId,
  purchase: PurchaseReference,
  bundleOrPackage: string,
  { from, to }: AskMove,
): Write[] => {
  const queue = queueOf(application, purchase, bundleOrPackage);
  return [
    // A transaction writes an item once: one that keeps its time is replaced.
    ...(from === null || from === to?.ask.at ? [] : [deletion(keys.ask(queue, purchase.key, from))]),
    ...(to === null ? [] : [askPut(queue, purchase, to)]),
  ];
};

export const createAskQueues = (table: Table): AskQueues => {
  const leased = createLeasedQueues(table, keys.askState, () => z.enum(PAUSE_REASONS));

  /** Moves a question. The purchase's revision rises: facts that were read before are out of date. */
  const move = (
    application: ApplicationId,
    purchase: PurchaseReference,
    bundleOrPackage: string,
    moved: AskMove,
    condition: Condition,
    attributes: object = {},
  ) =>
    transact(table, [
      update(keys.purchase(application, purchase), { ...attributes, ask: moved.to?.ask ?? null }, condition, {
        add: { revision: 1 },
      }),
      ...askWrites(application, purchase, bundleOrPackage, moved),
    ]);

  const dueIn = async (queue: StoreInEnvironment, moment: Instant, limit: number) => {
    const { application, store } = queue;
    const range = { pk: partitions.ask(queue), sortKeyBefore: sortKeys.afterDueBy(moment) };
    const due = await firstKnownItems(table, range, askItem, limit);
    return due.map(({ environment, key, ...due }): DueAsk => ({
      application,
      purchase: { store, environment, key },
      ...due,
    }));
  };

  return {
    of: (queue) => ({
      due: (moment, limit) => dueIn(queue, moment, limit),
      take: (lease, moment) => leased.take(queue, lease, moment),
      release: (lease, health) => leased.release(queue, lease, health),
    }),
    healthOf: leased.healthOf,
    resume: (queue) => leased.resume(queue, { pausedUntil: 0 }),

    sourceOf: async (application, { purchase, ask, bundleOrPackage }) => {
      if (ask === null || bundleOrPackage === null) return null;
      const key = keys.ask(queueOf(application, purchase, bundleOrPackage), purchase.key, ask.at);
      return (await readItem(table, key, askItem))?.source ?? null;
    },

    move: async ({ application, purchase, ask: asked, source, acknowledgement }, ask) => {
      const place = bundleOrPackageOf(source);
      const to = ask === null ? null : { ask, source, acknowledgement };
      const moved = await move(application, purchase, place, { from: asked.at, to }, askUnchanged(asked.at));
      if (moved.outcome === "written") return;
      if (!moved.failed.has(0)) throw moved.cause;
      // The purchase is gone, or its question has moved: this item is a leftover.
      await transact(table, askWrites(application, purchase, place, { from: asked.at, to: null }));
    },

    set: async (application, { purchase, revision, ask: before, acknowledgement }, ask, source) => {
      const place = bundleOrPackageOf(source);
      const moved = { from: before?.at ?? null, to: { ask, source, acknowledgement } };
      const attributes = { bundleOrPackage: place };
      return (await move(application, purchase, place, moved, revisionUnchanged(revision), attributes))
        .outcome;
    },

    acknowledged: async (application, { purchase, ask }, source, to) => {
      if (ask === null) return;
      const moved = { from: ask.at, to: to === null ? null : { ask: to, source, acknowledgement: null } };
      const place = bundleOrPackageOf(source);
      await move(application, purchase, place, moved, askUnchanged(ask.at), { acknowledgement: null });
    },
  };
};
