import * as z from "zod/mini";
import type { ResendTable, ToldVersion } from "../../administration/acts/destinations.ts";
import type { MessageType } from "../../contract/messages.ts";
import { requestEnd, type StoreRequestQueue } from "../../customers/notifications.ts";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Delivery,
  type DeliveryQueue,
  type DestinationReference,
  type Forward,
  type ForwardQueue,
  type ForwardReference,
  type RequestDelivery,
} from "../../delivery/delivery-queue.ts";
import type { Instant } from "../../entitlements/time.ts";
import { HEALTHY } from "../../queues/health.ts";
import { CHANGES_KEPT_MILLISECONDS } from "../../telling/change.ts";
import { absent, present, versionUnchanged } from "../dynamodb/conditions.ts";
import { firstKnownItems, queryPages, readItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, knownItems, type Attributes, type Table } from "../dynamodb/table.ts";
import {
  check,
  deletion,
  ifConditionHolds,
  put,
  transact,
  unlessChanged,
  update,
  write,
} from "../dynamodb/writes.ts";
import { keys, partitions, prefixes, sortKeys } from "../keys.ts";
import { createLeasedQueues } from "../queues/lease.ts";
import { changeItem, place, toldItem } from "./change-items.ts";

const waiting = () => ({
  /** Time of the oldest message not taken. */
  since: shape.integer(),
  tries: shape.integer(),
  nextTryAt: shape.integer(),
});

const accountDeliveryItem = () =>
  z.object({
    kind: z.literal("account"),
    account: shape.account(),
    version: shape.integer(),
    place: place(),
    ...waiting(),
  });

const message = () =>
  z.object({
    identifier: shape.text(),
    type: shape.text(),
    timestamp: shape.integer(),
    data: shape.jsonText(z.unknown()),
  });

const requestDeliveryItem = () =>
  z.object({ kind: z.literal("request"), message: message(), until: shape.integer(), ...waiting() });

export const deliveryItem = () => z.union([accountDeliveryItem(), requestDeliveryItem()]);

/** Makes a version due, in place of an older one that still waits. `since` keeps the time of the oldest. */
export const deliveryWrite = (
  destination: DestinationReference,
  { account, version, place }: ToldVersion,
  since: Instant,
) => {
  const attributes = {
    kind: "account",
    account,
    version,
    place,
    tries: 0,
    nextTryAt: 0,
    ...expiry(since + CHANGES_KEPT_MILLISECONDS),
  } satisfies Omit<Attributes<typeof accountDeliveryItem>, "since">;
  return update(keys.delivery(destination, account), attributes, undefined, { initially: { since } });
};

/** Makes a store's request due, unless it waits already. */
export const requestDelivery = (
  destination: DestinationReference,
  { message, until }: Pick<RequestDelivery, "message" | "until">,
) =>
  put(
    keys.requestDelivery(destination, message.identifier),
    {
      kind: "request",
      message: { ...message, data: JSON.stringify(message.data) },
      until,
      since: message.timestamp,
      tries: 0,
      nextTryAt: 0,
      ...expiry(until),
    } satisfies Attributes<typeof requestDeliveryItem>,
    absent,
  );

/** The key of a delivery, and the condition that no newer version has taken its place. */
const asRead = (destination: DestinationReference, delivery: Delivery) =>
  delivery.kind === "account"
    ? ([keys.delivery(destination, delivery.account), versionUnchanged(delivery.version)] as const)
    : ([keys.requestDelivery(destination, delivery.message.identifier), present] as const);

export const createDeliveryQueue = (table: Table): DeliveryQueue => {
  const queues = createLeasedQueues(table, keys.destinationHealth, shape.text);
  return {
    waiting: async function* (destination, itemsPerPage) {
      // The pages include the destination's health, which is not a delivery.
      for await (const page of queryPages(table, { pk: partitions.destination(destination), itemsPerPage }))
        yield knownItems(deliveryItem, page);
    },

    changesAt: (application, places) => {
      const wanted = places.map((place) => keys.change(application, place));
      return readItems(table, wanted, changeItem);
    },

    ...queues,
    resume: (destination) => queues.resume(destination, HEALTHY),

    remove: async (destination, delivery) => {
      // The teller's transaction may be writing a newer version.
      await unlessChanged(() => write(table, deletion(...asRead(destination, delivery))));
    },

    retry: async (destination, delivery, tries, nextTryAt) => {
      const [key, condition] = asRead(destination, delivery);
      await unlessChanged(() => write(table, update(key, { tries, nextTryAt }, condition)));
    },
  };
};

export const createResendTable = (table: Table): ResendTable => ({
  newestOf: async (application, accounts) => {
    const wanted = accounts.map((account) => keys.told(application, account));
    const told = (await readItems(table, wanted, toldItem)).filter((one) => one !== null);
    return new Map(told.map(({ account, version }) => [account, version]));
  },

  deliverAgain: async (destination, version, since) => {
    const written = await transact(table, [
      check(keys.told(destination.application, version.account), versionUnchanged(version.version)),
      deliveryWrite(destination, version, since),
    ]);
    if (written.outcome === "written") return "written";
    return written.failed.has(0) ? "newer" : "conflict";
  },
});

/** Destinations are written separately: one where the request already waits does not block the others. */
export const createStoreRequestQueue = (table: Table): StoreRequestQueue => ({
  add: async (application, destinations, request) => {
    const { identifier, askedAt, data } = request;
    const type = "store.request" satisfies MessageType;
    const message = { identifier, type, timestamp: askedAt, data };
    const delivery = { message, until: requestEnd(request) };
    // Only one that waits already needs no put: after a conflict with a transaction, the request would be lost.
    const add = (destination: string) =>
      ifConditionHolds(
        () => write(table, requestDelivery({ application, destination }, delivery)),
        () => undefined,
      );
    await Promise.all(destinations.map(add));
  },
});

export const forwardItem = () =>
  z.object({
    identifier: shape.text(),
    body: shape.text(),
    contentType: shape.text(),
    ...waiting(),
  });

/** The key has the time of the next attempt, so that the cost of finding what is due does not grow with what waits. */
const forwardPut = (bundle: ForwardReference, forward: Forward) => {
  const { identifier, body, contentType, since, tries, nextTryAt } = forward;
  return put(keys.forward(bundle, forward), {
    identifier,
    body,
    contentType,
    since,
    tries,
    nextTryAt,
    ...expiry(since + FORWARDS_KEPT_MILLISECONDS),
  } satisfies Attributes<typeof forwardItem>);
};

/** Each may have 64 KB. */
const MOST_COUNTED = 1000;

export const createForwardQueue = (table: Table): ForwardQueue => ({
  ...createLeasedQueues(table, keys.forwardHealth, shape.text),

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
});
