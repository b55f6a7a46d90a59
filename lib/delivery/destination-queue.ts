import type { Application } from "../applications/application.ts";
import type { Destination } from "../applications/destination.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { workOff, type Outcome, type Run, type Work, type WorkedOff } from "../queues/work-off.ts";
import { ACCOUNT_CHANGED, CHANGES_KEPT_MILLISECONDS } from "../telling/change.ts";
import type { Delivery, DeliveryQueue, DestinationReference, WaitingItems } from "./delivery-queue.ts";
import { failingOf, GONE, nextTry, pausesOf, type Failing } from "./destination-health.ts";
import type { ForwardReference } from "./forward-queue.ts";
import type { Message } from "./message.ts";
import type { SendOutcome } from "./send-outcome.ts";

export interface Sending {
  readonly queue: DeliveryQueue;
  /** Makes one attempt for each message, in the order of the messages. Rejects if this service fails. */
  readonly send: (
    application: ApplicationId,
    destination: Destination,
    messages: readonly Message[],
  ) => Promise<readonly SendOutcome[]>;
  readonly now: () => Instant;
  /** Receives an unexpected failure of this service. */
  readonly onFailure: (error: unknown) => void;
}

/** An end that takes nothing. */
export type FailingEnd = Failing & (DestinationReference | ForwardReference);

/** Attempts of a run, counted as they end. */
export interface DeliveryCounts {
  delivered: number;
  failed: number;
}

/** Messages sent to one destination at the same time. */
export const MESSAGES_AT_ONCE = 20;

/** Enough to find the next batch at once, beside the item of the destination's health. */
const PER_PAGE = 2 * MESSAGES_AT_ONCE;

/** Reason for a destination to which this service could not even try to deliver. */
const FAULT = "error";

/** Outcome of one delivery. */
export interface Delivered extends Outcome {
  /** Time before which the destination wants no further attempt of this message; null: none named. */
  readonly retryAt: Instant | null;
}

export const DELIVERED: Delivered = { item: "done", end: "up", retryAt: null };
/** Nothing is left to deliver. */
export const DROPPED: Delivered = { item: "done", end: null, retryAt: null };
export const FAULTY: Delivered = {
  item: "failed",
  end: { because: FAULT, retryAt: null, isForAll: false },
  retryAt: null,
};

export const deliveredBy = (sent: SendOutcome | undefined): Delivered => {
  switch (sent?.outcome) {
    case "delivered":
      return DELIVERED;
    case "gone":
      return { item: "failed", end: GONE, retryAt: null };
    case "failed": {
      const { because, status, retryAt } = sent;
      const reason = status === null ? because : `${because} ${status}`;
      return { item: "failed", end: { because: reason, retryAt, isForAll: false }, retryAt };
    }
    case undefined:
      return FAULTY;
  }
};

/** Messages of deliveries; null: nothing is left to deliver. The identifier is the same for every destination and attempt. */
const messagesOf = async (
  { queue, now }: Sending,
  application: ApplicationId,
  deliveries: readonly Delivery[],
): Promise<readonly (Message | null)[]> => {
  const places = deliveries.flatMap((one) => (one.kind === "account" ? one.place : []));
  const changes = (await queue.changesAt(application, places)).values();
  return deliveries.map((delivery): Message | null => {
    if (delivery.kind === "request") return delivery.until > now() ? delivery.message : null;
    const change = changes.next().value;
    if (change?.data == null || change.toldAt + CHANGES_KEPT_MILLISECONDS <= now()) return null;
    return {
      identifier: `msg_${application}_${delivery.place.sequence}`,
      type: ACCOUNT_CHANGED,
      timestamp: change.toldAt,
      data: change.data,
    };
  });
};

/** A version of an account, or a request. */
const keyOf = (one: Delivery): string =>
  one.kind === "account" ? `account ${one.account} ${one.version}` : one.message.identifier;

/** An end for which items wait, and the attempts to deliver them. */
interface Delivering<End, Item> {
  readonly end: End;
  readonly queue: WaitingItems<End, Item>;
  /** Items due by the moment; of an end that is back, those that are due later, too. */
  due(moment: Instant, limit: number, isBack: boolean): Promise<readonly Item[]>;
  /** Makes one attempt for each item: their outcomes, in their order. */
  attempt(batch: readonly Item[]): Promise<readonly Delivered[]>;
  keyOf(item: Item): string;
  dueAtOf(item: Item): Instant;
}

/** Works off what waits for another end, and counts its attempts. One that is back gets all of it at once. */
export const deliveringWork = <End, Item extends { readonly tries: number }>(
  { end, queue, due, attempt, keyOf, dueAtOf }: Delivering<End, Item>,
  counts: DeliveryCounts,
): Work<Item, string, Delivered> => {
  let wasFailing = false;
  let isBack = false;
  const settle = async (item: Item, result: Delivered): Promise<Delivered> => {
    if (result === DELIVERED) {
      isBack ||= wasFailing;
      counts.delivered += 1;
    } else if (result !== DROPPED && result !== FAULTY) counts.failed += 1;
    if (result.item === "done") await queue.remove(end, item);
    return result;
  };
  return {
    queue: {
      due: (moment, limit) => due(moment, limit, isBack),
      take: async (lease, moment) => {
        const health = await queue.take(end, lease, moment);
        wasFailing = health !== null && health.failures > 0;
        return health;
      },
      release: async (lease, health) => {
        isBack = false;
        return queue.release(end, lease, health);
      },
    },
    keyOf,
    dueAtOf,
    atOnce: MESSAGES_AT_ONCE,
    pace: 0,
    act: async (batch) => {
      const results = await attempt(batch);
      return Promise.all(batch.map(async (item, index) => settle(item, results[index] ?? FAULTY)));
    },
    postpone: async (item, result, moment) => {
      const tries = item.tries + 1;
      await queue.retry(end, item, tries, nextTry(tries, moment, result?.retryAt ?? null));
    },
    staysFor: 0,
    pausesOf,
  };
};

/** An end to which a run delivers: a destination, or a service that gets a bundle's notifications. */
export interface Target {
  /** Distinguishes it in a run. */
  readonly name: string;
  readonly turn: (until: Instant) => Promise<WorkedOff>;
  readonly report: () => Promise<{
    /** Time of the oldest message that waits; null: none, or it is not reported. */
    readonly oldest: Instant | null;
    /** Null: it takes what there is. */
    readonly failing: FailingEnd | null;
  }>;
}

/** Delivers to one destination: sends its messages, and stores the outcome of each. */
export const destinationTarget = (
  sending: Sending & Run,
  { identifier }: Application,
  destination: Destination,
  counts: DeliveryCounts,
): Target => {
  const { queue } = sending;
  const end = { application: identifier, destination: destination.name };
  let oldest: Instant | null = null;
  /** Not sent again in this run: a teller's transaction may have kept them from being removed. */
  const delivered = new Set<string>();
  const send = async (messages: readonly Message[]): Promise<readonly SendOutcome[]> =>
    messages.length === 0
      ? []
      : sending.send(identifier, destination, messages).catch((error: unknown) => {
          sending.onFailure(error);
          return [];
        });
  const work = deliveringWork<DestinationReference, Delivery>(
    {
      end,
      queue,
      keyOf,
      dueAtOf: ({ since }) => since,
      due: async (moment, limit, isBack) => {
        const due: Delivery[] = [];
        oldest = null;
        for await (const page of queue.waiting(end, PER_PAGE)) {
          for (const one of page) {
            if (delivered.has(keyOf(one))) continue;
            oldest = Math.min(oldest ?? one.since, one.since);
            if (isBack || one.nextTryAt <= moment) due.push(one);
          }
          if (due.length >= limit) break;
        }
        return due.slice(0, limit);
      },
      attempt: async (batch) => {
        const messages = await messagesOf(sending, identifier, batch);
        const sent = (await send(messages.flatMap((message) => message ?? []))).values();
        return messages.map((message, index) => {
          const result = message === null ? DROPPED : deliveredBy(sent.next().value);
          const one = batch[index];
          if (result === DELIVERED && one !== undefined) delivered.add(keyOf(one));
          return result;
        });
      },
    },
    counts,
  );
  return {
    name: `${identifier} ${destination.name}`,
    turn: async (until) => workOff(work, sending, until),
    report: async () => {
      if (oldest === null) return { oldest, failing: null };
      const failing = failingOf(await queue.healthOf(end));
      return {
        oldest: Math.min(oldest, failing?.failingSince ?? oldest),
        failing: failing && { ...end, ...failing },
      };
    },
  };
};
