import { forwardsTo, type Application } from "../applications/application.ts";
import { failingOf } from "../queues/health.ts";
import { turnOf, type Outcome, type Run } from "../queues/work-off.ts";
import {
  FORWARDS_KEPT_MILLISECONDS,
  type Forward,
  type ForwardQueue,
  type ForwardReference,
  type SentNotification,
} from "./forward-queue.ts";
import type { SendOutcome } from "./send-outcome.ts";
import { deliveredBy, deliveringWork, DROPPED, FAULTY, type DeliveryCounts, type Target } from "./target.ts";

export interface Forwarding {
  readonly queue: ForwardQueue;
  /** Makes one attempt. Rejects if this service fails. */
  readonly send: (url: string, notification: SentNotification) => Promise<SendOutcome>;
}

/** After every time at which an attempt is due. */
const ANY_TIME = Date.UTC(9000, 0, 1);

const GONE_STATUS = 410;

/** A service that answers 410 is tried on: nobody would resume it, and the manifest ends the forwarding. */
const forwardedBy = (sent: SendOutcome): Outcome =>
  deliveredBy(
    sent.outcome === "gone"
      ? { outcome: "failed", because: "status", status: GONE_STATUS, retryAt: null }
      : sent,
  );

const forwardTarget = (
  { queue, send }: Forwarding,
  run: Run,
  end: ForwardReference,
  url: string,
  counts: DeliveryCounts,
): Target => {
  const attempt = async ({ since, body, contentType }: Forward): Promise<Outcome> => {
    if (since + FORWARDS_KEPT_MILLISECONDS <= run.now()) return DROPPED;
    return send(url, { body, contentType }).then(forwardedBy, (error: unknown) => {
      run.onFailure(error);
      return FAULTY;
    });
  };
  const work = deliveringWork<ForwardReference, Forward>(
    {
      end,
      queue,
      keyOf: ({ identifier }) => identifier,
      dueAtOf: ({ nextTryAt }) => nextTryAt,
      due: (moment, limit, isBack) => queue.due(end, isBack ? ANY_TIME : moment, limit),
      attempt: (batch) => Promise.all(batch.map(attempt)),
    },
    counts,
  );
  return {
    name: `forward ${end.application} ${end.bundleIdentifier}`,
    turn: turnOf(work, run),
    report: async () => {
      const failing = failingOf(await queue.healthOf(end));
      const isWaiting = failing !== null && (await queue.due(end, ANY_TIME, 1)).length > 0;
      return { oldest: null, failing: isWaiting ? { ...end, ...failing } : null };
    },
  };
};

export const forwardTargets = (
  forwarding: Forwarding,
  run: Run,
  { identifier: application, iosStore }: Application,
  counts: DeliveryCounts,
): readonly Target[] =>
  iosStore.flatMap((store) => {
    const url = forwardsTo(store);
    const end = { application, bundleIdentifier: store.bundleIdentifier };
    return url === null ? [] : forwardTarget(forwarding, run, end, url, counts);
  });
