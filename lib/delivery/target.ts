import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Down, Failing, QueueHealth } from "../queues/health.ts";
import { turnOf, type Outcome, type Run, type Turn, type Work } from "../queues/work-off.ts";
import type { DestinationReference, ForwardReference, WaitingItems } from "./delivery-queue.ts";
import type { SendOutcome } from "./message.ts";

export type FailingEnd = Failing & (DestinationReference | ForwardReference);

/** An end to which a run delivers: a destination, or a service that gets a bundle's notifications. */
export interface Target {
  readonly name: string;
  readonly turn: Turn;
  readonly report: () => Promise<{
    /** Time of the oldest message that waits; null: none, or it is not reported. */
    readonly oldest: Instant | null;
    /** Null: it takes what there is. */
    readonly failing: FailingEnd | null;
  }>;
}

export interface DeliveryCounts {
  delivered: number;
  failed: number;
}

export const MESSAGES_AT_ONCE = 20;

/** A destination that has answered 410: suspended until an operator resumes it. */
export const GONE: Down<string> = {
  because: "gone",
  retryAt: Date.UTC(9999, 11, 31),
  isForAll: true,
};

export const isSuspended = ({ because }: Pick<QueueHealth, "because">): boolean => because === GONE.because;

/**
 * Times from a failed attempt to the next one; the last is repeated.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
const RETRY_PAUSES: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  DAY,
];

/** Next attempt after the given number of failed ones, no earlier than the destination asks for. */
const nextTry = (failures: number, moment: Instant, retryAt: Instant | null): Instant => {
  const step = RETRY_PAUSES[Math.min(failures, RETRY_PAUSES.length) - 1] ?? DAY;
  return Math.max(moment + step, Math.min(retryAt ?? 0, moment + DAY));
};

/** Short: the cause may be one message that is never taken, while others wait. Each message has its own pauses. */
const PAUSES = RETRY_PAUSES.slice(0, 2);

/** The pauses are the same for every reason. */
export const pausesOf = (): readonly number[] => PAUSES;

const DELIVERED: Outcome = { item: "done", end: "up" };
/** Nothing is left to deliver. */
const DROPPED: Outcome = { item: "done", end: null };
/** This service could not even try. */
const FAULTY: Outcome = { item: "failed", end: { because: "error", retryAt: null, isForAll: false } };

const outcomeOf = (sent: SendOutcome): Outcome => {
  switch (sent.outcome) {
    case "delivered":
      return DELIVERED;
    case "gone":
      return { item: "failed", end: GONE };
    case "failed": {
      const { because, status, retryAt } = sent;
      const reason = status === null ? because : `${because} ${status}`;
      return { item: "failed", end: { because: reason, retryAt, isForAll: false } };
    }
  }
};

interface Delivering<End, Item, Content> {
  readonly end: End;
  readonly queue: WaitingItems<End, Item>;
  /** Items due by the moment; of an end that is back, those due later, too. `sent`: keys of those delivered in this run. */
  due(moment: Instant, limit: number, isBack: boolean, sent: ReadonlySet<string>): Promise<readonly Item[]>;
  /** Content to send for each item, in their order; null: nothing is left to deliver. */
  contentsOf(batch: readonly Item[]): Promise<readonly (Content | null)[]>;
  /** Makes one attempt. Rejects if this service fails. */
  send(content: Content): Promise<SendOutcome>;
  keyOf(item: Item): string;
  dueAtOf(item: Item): Instant;
}

/** Delivers what waits for another end, and counts the attempts. One that is back gets all of it at once. */
export const deliveringTurn = <End, Item extends { readonly tries: number }, Content>(
  { end, queue, due, contentsOf, send, keyOf, dueAtOf }: Delivering<End, Item, Content>,
  counts: DeliveryCounts,
  run: Run,
): Turn => {
  let wasFailing = false;
  let isBack = false;
  const sent = new Set<string>();
  const attempt = async (content: Content | null): Promise<Outcome> =>
    content === null
      ? DROPPED
      : send(content).then(outcomeOf, (error: unknown) => {
          run.onFailure(error);
          return FAULTY;
        });
  const settle = async (item: Item, result: Outcome): Promise<Outcome> => {
    if (result === DELIVERED) {
      sent.add(keyOf(item));
      isBack ||= wasFailing;
      counts.delivered += 1;
    } else if (result !== DROPPED && result !== FAULTY) counts.failed += 1;
    if (result.item === "done") await queue.remove(end, item);
    return result;
  };
  const work: Work<Item> = {
    queue: {
      due: (moment, limit) => due(moment, limit, isBack, sent),
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
      const results = await Promise.all((await contentsOf(batch)).map(attempt));
      return Promise.all(batch.map(async (item, index) => settle(item, results[index] ?? FAULTY)));
    },
    postpone: async (item, result, moment) => {
      const tries = item.tries + 1;
      const shown = result?.end ?? "up";
      // Once a suspended destination is resumed, its messages wait no longer.
      const retryAt = shown === "up" || shown === GONE ? null : shown.retryAt;
      await queue.retry(end, item, tries, nextTry(tries, moment, retryAt));
    },
    staysFor: 0,
    pausesOf,
  };
  return turnOf(work, run);
};
