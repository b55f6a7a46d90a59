import { forwardsTo, type Application } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Turn } from "../queues/work-off-all.ts";
import { workOff, type Run, type Work } from "../queues/work-off.ts";
import type { Failing } from "./destination-health.ts";
import {
  deliveredBy,
  deliveringWork,
  DROPPED,
  FAULTY,
  type Delivered,
  type DeliveryCounts,
} from "./destination-queue.ts";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Forward,
  type ForwardQueue,
  type ForwardReference,
  type SentNotification,
} from "./forward-queue.ts";
import type { SendOutcome } from "./send-outcome.ts";

export interface Forwarding {
  readonly queue: ForwardQueue;
  /** Makes one attempt. Rejects if this service fails. */
  readonly send: (url: string, notification: SentNotification) => Promise<SendOutcome>;
}

/** After every time at which an attempt is due. */
const ANY_TIME = Date.UTC(9000, 0, 1);

const GONE_STATUS = 410;

/** A service that answers 410 is tried on: nobody would resume it, and the manifest ends the forwarding. */
const forwardedBy = (sent: SendOutcome): Delivered =>
  deliveredBy(
    sent.outcome === "gone"
      ? { outcome: "failed", because: "status", status: GONE_STATUS, retryAt: null }
      : sent,
  );

/** Forwards the notifications of one bundle, and stores the outcome of each. */
const workOf = (
  { queue, send }: Forwarding,
  { now, onFailure }: Pick<Run, "now" | "onFailure">,
  bundle: ForwardReference,
  url: string,
  counts: DeliveryCounts,
): Work<Forward, string, Delivered> => {
  const attempt = async ({ since, body, contentType }: Forward): Promise<Delivered> => {
    if (since + FORWARDS_KEPT_MILLISECONDS <= now()) return DROPPED;
    return send(url, { body, contentType }).then(forwardedBy, (error: unknown) => {
      onFailure(error);
      return FAULTY;
    });
  };
  return deliveringWork<Forward>(
    {
      keyOf: ({ identifier }) => identifier,
      dueAtOf: ({ nextTryAt }) => nextTryAt,
      due: (moment, limit, isBack) => queue.due(bundle, isBack ? ANY_TIME : moment, limit),
      attempt: (batch) => Promise.all(batch.map(attempt)),
      take: (lease, moment) => queue.take(bundle, lease, moment),
      release: (lease, health) => queue.release(bundle, lease, health),
      remove: (forward) => queue.remove(bundle, forward),
      retry: (forward, tries, nextTryAt) => queue.retry(bundle, forward, tries, nextTryAt),
    },
    counts,
  );
};

/** A bundle whose other service takes nothing. */
export type FailingForward = ForwardReference & Failing;

/** The bundles whose notifications a run forwards. */
export interface Forwards {
  /** Adds the bundles of an application. */
  add(application: Application): void;
  turns(): readonly (readonly [name: string, turn: Turn])[];
  failing(): Promise<readonly FailingForward[]>;
}

/** @param until no attempt starts from this moment on */
export const createForwards = (
  run: Run & { readonly forwarding?: Forwarding },
  counts: DeliveryCounts,
  until: Instant,
): Forwards => {
  const { forwarding } = run;
  const bundles = new Map<string, { readonly bundle: ForwardReference; readonly turn: Turn }>();
  if (forwarding === undefined)
    return { add: () => undefined, turns: () => [], failing: () => Promise.resolve([]) };
  const { queue } = forwarding;
  return {
    add: ({ identifier: application, iosStore }) => {
      for (const store of iosStore) {
        const url = forwardsTo(store);
        const { bundleIdentifier } = store;
        const name = `forward ${application} ${bundleIdentifier}`;
        if (url === null || bundles.has(name)) continue;
        const bundle = { application, bundleIdentifier };
        const work = workOf(forwarding, run, bundle, url, counts);
        bundles.set(name, { bundle, turn: async () => workOff(work, run, until) });
      }
    },
    turns: () => [...bundles].map(([name, { turn }]) => [name, turn]),
    failing: async () => {
      const failing: FailingForward[] = [];
      for (const { bundle } of bundles.values()) {
        const { failingSince, because, pausedUntil } = await queue.healthOf(bundle);
        if (failingSince === null || (await queue.due(bundle, ANY_TIME, 1)).length === 0) continue;
        failing.push({ ...bundle, because: because ?? "", failingSince, until: pausedUntil });
      }
      return failing;
    },
  };
};
