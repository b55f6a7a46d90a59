import type { Application } from "../applications/application.ts";
import type { Destination } from "../applications/destination.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { failingOf } from "../queues/health.ts";
import { turnOf, type Outcome, type Run } from "../queues/work-off.ts";
import { ACCOUNT_CHANGED, CHANGES_KEPT_MILLISECONDS } from "../telling/change.ts";
import type { Delivery, DeliveryQueue, DestinationReference } from "./delivery-queue.ts";
import type { Message } from "./message.ts";
import type { SendOutcome } from "./send-outcome.ts";
import {
  DELIVERED,
  deliveredBy,
  deliveringWork,
  DROPPED,
  MESSAGES_AT_ONCE,
  type DeliveryCounts,
  type Target,
} from "./target.ts";

export interface Sending {
  readonly queue: DeliveryQueue;
  /** Makes one attempt for each message, in the order of the messages. Rejects if this service fails. */
  readonly send: (
    application: ApplicationId,
    destination: Destination,
    messages: readonly Message[],
  ) => Promise<readonly SendOutcome[]>;
}

/** Enough to find the next batch at once, beside the item of the destination's health. */
const PER_PAGE = 2 * MESSAGES_AT_ONCE;

/** Messages of deliveries; null: nothing is left to deliver. The identifier is the same for every destination and attempt. */
const messagesOf = async (
  { queue, now }: Sending & Run,
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

const keyOf = (one: Delivery): string =>
  one.kind === "account" ? `account ${one.account} ${one.version}` : one.message.identifier;

/** The messages that wait for one destination: what is due, and an attempt for each of a batch. */
const waitingFor = (run: Sending & Run, end: DestinationReference, destination: Destination) => {
  const { queue, onFailure } = run;
  let oldest: Instant | null = null;
  /** Not sent again in this run: a teller's transaction may have kept them from being removed. */
  const delivered = new Set<string>();
  const send = async (messages: readonly Message[]): Promise<readonly SendOutcome[]> =>
    messages.length === 0
      ? []
      : run.send(end.application, destination, messages).catch((error: unknown) => {
          onFailure(error);
          return [];
        });
  return {
    /** Time of the oldest that waited when last looked at; null: none. */
    oldest: () => oldest,
    due: async (moment: Instant, limit: number, isBack: boolean): Promise<readonly Delivery[]> => {
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
    attempt: async (batch: readonly Delivery[]): Promise<readonly Outcome[]> => {
      const messages = await messagesOf(run, end.application, batch);
      const sent = (await send(messages.flatMap((message) => message ?? []))).values();
      return messages.map((message, index) => {
        const result = message === null ? DROPPED : deliveredBy(sent.next().value);
        const one = batch[index];
        if (result === DELIVERED && one !== undefined) delivered.add(keyOf(one));
        return result;
      });
    },
  };
};

export const destinationTarget = (
  run: Sending & Run,
  { identifier: application }: Application,
  destination: Destination,
  counts: DeliveryCounts,
): Target => {
  const { queue } = run;
  const end = { application, destination: destination.name };
  const { oldest: oldestNow, ...waiting } = waitingFor(run, end, destination);
  const dueAtOf = ({ since }: Delivery): Instant => since;
  const work = deliveringWork({ end, queue, keyOf, dueAtOf, ...waiting }, counts);
  return {
    name: `${application} ${destination.name}`,
    turn: turnOf(work, run),
    report: async () => {
      const oldest = oldestNow();
      if (oldest === null) return { oldest, failing: null };
      const failing = failingOf(await queue.healthOf(end));
      return {
        oldest: Math.min(oldest, failing?.failingSince ?? oldest),
        failing: failing && { ...end, ...failing },
      };
    },
  };
};
