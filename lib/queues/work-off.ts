import { HOUR, SECOND } from "../duration.ts";
import { afterFailure, HEALTHY, type Lease, type PauseReason, type QueueHealth } from "./health.ts";

/** Items that are to be worked off, oldest first, and the queue's lease and health. Reads are strongly consistent. */
export interface Queue<Item> {
  /** Items due by the moment, oldest first. */
  due(moment: number, limit: number): Promise<readonly Item[]>;
  /** Takes the lease, or extends the worker's own. Null: another worker has it, or the queue is paused. */
  take(lease: Lease, moment: number): Promise<QueueHealth | null>;
  /** Ends the lease, if it is still the worker's, and stores the health. */
  release(lease: Pick<Lease, "worker">, health: QueueHealth): Promise<void>;
}

/**
 * What became of one item. `done`: it has left the queue or moved in it. `failed`: it is to move to its next step.
 * `isUp`: whether this shows that the other end answers; null: it shows nothing.
 */
export type Outcome =
  | { readonly outcome: "done" }
  | { readonly outcome: "failed"; readonly isUp: true | null }
  | { readonly outcome: PauseReason; readonly retryAt: number | null };

/** What a queue carries, and what is done with an item of it. */
export interface Work<Item, Result extends Outcome = Outcome> {
  readonly queue: Queue<Item>;
  readonly dueAtOf: (item: Item) => number;
  /** Items per second at most. */
  readonly perSecond: number;
  /** Acts on one item. A rejection is this service's fault: it counts as `failed`, and shows nothing of the other end. */
  readonly act: (item: Item) => Promise<Result>;
  /** Moves an item that failed to its next step, or out of the queue. Null: acting on it was rejected. */
  readonly postpone: (item: Item, result: Result | null) => Promise<void>;
}

/** The clock, and what a run of queues shares. */
export interface Run {
  readonly now: () => number;
  readonly wait: (milliseconds: number) => Promise<void>;
  readonly newWorker: () => string;
  /** Takes an unexpected failure of one item or of one queue. */
  readonly onFailure: (error: unknown) => void;
}

/** Longer than a turn and its last batch. A dead worker's lease expires. */
const LEASE_MILLISECONDS = 60 * SECOND;

/** Time after which another queue has its turn. */
const TURN_MILLISECONDS = 10 * SECOND;

/** Age from which an item moves on although its queue is paused, so that it does not hold up the others. */
const MOVES_ON_AFTER = HOUR;

/** `empty`: nothing is due. `more`: the queue needs another turn. `waiting`: items are due, but have to wait. */
export interface WorkedOff {
  readonly state: "empty" | "more" | "waiting";
  readonly done: number;
  readonly failed: number;
}

/**
 * The item that probes whether the other end is back: the newest, in turn with one at a place that changes each time,
 * as the oldest may be those that cause the failures.
 *
 * @param tries probes so far
 */
const probeAmong = <Item>(due: readonly Item[], tries: number): readonly Item[] => {
  const place = tries % 2 === 1 ? due.length - 1 : (tries / 2) % due.length;
  return due.slice(place, place + 1);
};

/** Health after a batch: one item that shows the other end up is enough, unless a time was named. */
const healthAfter = (before: QueueHealth, outcomes: readonly Outcome[], moment: number): QueueHealth => {
  const pauses = outcomes.flatMap((one) =>
    one.outcome === "unavailable" || one.outcome === "credential-rejected" ? [one] : [],
  );
  const named = pauses.flatMap(({ retryAt }) => retryAt ?? []);
  if (named.length > 0) return afterFailure(before, "unavailable", moment, Math.max(...named));
  if (outcomes.some((one) => one.outcome === "done" || (one.outcome === "failed" && one.isUp === true)))
    return HEALTHY;
  const rejected = pauses.find(({ outcome }) => outcome === "credential-rejected");
  const pause = rejected ?? pauses[0];
  return pause === undefined ? before : afterFailure(before, pause.outcome, moment);
};

/**
 * Works off a queue for a turn, or until it is empty or paused: under its lease, oldest first, a second's share each
 * second. In a queue that fails, a single item probes. What failed moves to its next step; in a paused queue it stays.
 *
 * @param until no batch starts from this moment on
 */
export const workOff = async <Item, Result extends Outcome>(
  work: Work<Item, Result>,
  run: Run,
  until: number,
): Promise<WorkedOff> => {
  const { queue, dueAtOf, perSecond } = work;
  const { now, wait, onFailure } = run;
  let [done, failed] = [0, 0];
  if ((await queue.due(now(), 1)).length === 0) return { state: "empty", done, failed };
  const lease = { worker: run.newWorker(), until: now() + LEASE_MILLISECONDS };
  const taken = await queue.take(lease, now());
  if (taken === null) return { state: "waiting", done, failed };

  const act = async (item: Item): Promise<{ readonly item: Item; readonly result: Result | null }> => {
    try {
      return { item, result: await work.act(item) };
    } catch (error) {
      onFailure(error);
      return { item, result: null };
    }
  };
  let health = taken;
  let probes = 0;
  const isPaused = (): boolean => health.pausedUntil > now();
  const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
  // Read under the lease: another worker may have moved them since.
  const read = (): Promise<readonly Item[]> => queue.due(now(), perSecond);
  try {
    let due = await read();
    while (due.length > 0 && now() < turnEnds && !isPaused()) {
      const began = now();
      // A probe that shows nothing is followed by another item.
      const batch = health.failures > 0 ? probeAmong(due, health.failures + probes++) : due;
      const acted = await Promise.all(batch.map(act));
      health = healthAfter(
        health,
        acted.flatMap(({ result }) => result ?? []),
        now(),
      );
      const left = acted.filter(({ result }) => result?.outcome !== "done");
      done += acted.length - left.length;
      failed += left.length;
      const moving = left.filter(({ item }) => !isPaused() || now() - dueAtOf(item) >= MOVES_ON_AFTER);
      await Promise.all(moving.map(({ item, result }) => work.postpone(item, result).catch(onFailure)));
      if (!isPaused()) await wait(Math.max(0, began + SECOND - now()));
      due = await read();
    }
    const state = due.length === 0 ? "empty" : isPaused() || now() >= until ? "waiting" : "more";
    return { state, done, failed };
  } finally {
    await queue.release(lease, health);
  }
};
