import { forwardsTo, type Application, type Destination } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { failingOf } from "../queues/health.ts";
import { workOffApplications, type RunOfApplications } from "../queues/work-off-all.ts";
import { ACCOUNT_CHANGED, CHANGES_KEPT_MILLISECONDS } from "../telling/change.ts";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Delivery,
  type DeliveryQueue,
  type ForwardQueue,
  type ForwardReference,
  type SentNotification,
} from "./delivery-queue.ts";
import { failedBecause, type Message, type SendOutcome } from "./message.ts";
import {
  deliveringTurn,
  MESSAGES_AT_ONCE,
  type DeliveryCounts,
  type FailingEnd,
  type Target,
} from "./target.ts";

export interface DeliveryRun extends RunOfApplications<Application> {
  readonly queue: DeliveryQueue;
  /** Makes one attempt. Rejects if this service fails. */
  readonly send: (
    application: ApplicationId,
    destination: Destination,
    message: Message,
  ) => Promise<SendOutcome>;
  /** Forwards notifications to other services. */
  readonly forwarding: {
    readonly queue: ForwardQueue;
    /** Makes one attempt. Rejects if this service fails. */
    readonly send: (url: string, notification: SentNotification) => Promise<SendOutcome>;
  };
}

export interface DeliveryReport extends Readonly<DeliveryCounts> {
  /** Age of the oldest waiting message, in milliseconds; 0: none waits. Forwarded notifications are left out. */
  readonly oldest: number;
  readonly failing: readonly FailingEnd[];
}

const DESTINATIONS_AT_ONCE = 100;

/** Enough to find the next batch at once, beside the item of the destination's health. */
const PER_PAGE = 2 * MESSAGES_AT_ONCE;

/** Messages of deliveries; null: nothing is left to deliver. The identifier is the same for every destination and attempt. */
const messagesOf = async (
  { queue, now }: DeliveryRun,
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

const destinationTarget = (
  run: DeliveryRun,
  application: ApplicationId,
  destination: Destination,
  counts: DeliveryCounts,
): Target => {
  const { queue } = run;
  const end = { application, destination: destination.name };
  /** Time of the oldest that waited when last looked at; null: none. */
  let oldest: Instant | null = null;
  const turn = deliveringTurn(
    {
      end,
      queue,
      keyOf,
      dueAtOf: ({ since }) => since,
      due: async (moment, limit, isBack, sent) => {
        const due: Delivery[] = [];
        oldest = null;
        for await (const page of queue.waiting(end, PER_PAGE)) {
          for (const one of page) {
            // Not again: a teller's transaction may have kept it from being removed.
            if (sent.has(keyOf(one))) continue;
            oldest = Math.min(oldest ?? one.since, one.since);
            if (isBack || one.nextTryAt <= moment) due.push(one);
          }
          if (due.length >= limit) break;
        }
        return due.slice(0, limit);
      },
      contentsOf: async (batch) => messagesOf(run, application, batch),
      send: async (message) => run.send(application, destination, message),
    },
    counts,
    run,
  );
  return {
    name: `${application} ${destination.name}`,
    turn,
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

/** After every time at which an attempt is due. */
const ANY_TIME = Date.UTC(9000, 0, 1);

/** A 410 of another service is a failure like others: nobody would resume it, and the manifest ends the forwarding. */
const goneAsFailure = (sent: SendOutcome): SendOutcome =>
  sent.outcome === "gone" ? failedBecause("status", 410) : sent;

const forwardTarget = (
  run: DeliveryRun,
  end: ForwardReference,
  url: string,
  counts: DeliveryCounts,
): Target => {
  const { queue, send } = run.forwarding;
  const turn = deliveringTurn(
    {
      end,
      queue,
      keyOf: ({ identifier }) => identifier,
      dueAtOf: ({ nextTryAt }) => nextTryAt,
      due: (moment, limit, isBack) => queue.due(end, isBack ? ANY_TIME : moment, limit),
      contentsOf: async (batch) =>
        batch.map((one) => (one.since + FORWARDS_KEPT_MILLISECONDS > run.now() ? one : null)),
      send: async ({ body, contentType }) => goneAsFailure(await send(url, { body, contentType })),
    },
    counts,
    run,
  );
  return {
    name: `forward ${end.application} ${end.bundleIdentifier}`,
    turn,
    report: async () => {
      const failing = failingOf(await queue.healthOf(end));
      const isWaiting = failing !== null && (await queue.due(end, ANY_TIME, 1)).length > 0;
      return { oldest: null, failing: isWaiting ? { ...end, ...failing } : null };
    },
  };
};

/**
 * Delivers the waiting messages of all applications, all destinations at once.
 *
 * @param until nothing starts from this moment on
 * @param only applications to begin with; unset: all
 */
export const deliverMessages = async (
  run: DeliveryRun,
  until: Instant,
  only?: readonly ApplicationId[],
): Promise<DeliveryReport> => {
  const { now } = run;
  const counts: DeliveryCounts = { delivered: 0, failed: 0 };
  const targets = new Map<string, Target>();
  const turnsOf = ({ identifier: application, destinations, iosStore }: Application) => {
    const forwards = iosStore.flatMap((store) => {
      const url = forwardsTo(store);
      const end = { application, bundleIdentifier: store.bundleIdentifier };
      return url === null ? [] : forwardTarget(run, end, url, counts);
    });
    const all = [...destinations.map((one) => destinationTarget(run, application, one, counts)), ...forwards];
    const added = all.filter(({ name }) => !targets.has(name));
    for (const target of added) targets.set(target.name, target);
    return added.map(({ name, turn }) => [name, turn] as const);
  };
  await workOffApplications(run, turnsOf, { atOnce: DESTINATIONS_AT_ONCE, until, only });

  const failing: FailingEnd[] = [];
  let oldest = now();
  for (const { report } of targets.values()) {
    const reported = await report();
    oldest = Math.min(oldest, reported.oldest ?? oldest);
    if (reported.failing !== null) failing.push(reported.failing);
  }
  return { ...counts, oldest: now() - oldest, failing };
};
