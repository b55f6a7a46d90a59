import { HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { HEALTHY, type Lease, type QueueHealth } from "../../lib/queues/health.ts";
import {
  eachAlone,
  turnOf,
  type Outcome,
  type Queue,
  type Run,
  type Work,
} from "../../lib/queues/work-off.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { createVirtualClock } from "./virtual-clock.ts";

export interface Item {
  readonly key: string;
  readonly dueAt: number;
}

export const DONE: Outcome = { item: "done", end: "up" };
/** Done, and no sign of the other end. */
export const DROPPED: Outcome = { item: "done", end: null };
export const BUSY: Outcome = { item: "busy", end: null };
export const OWN: Outcome = { item: "failed", end: "up" };
export const UNKNOWN: Outcome = { item: "failed", end: null };
export const downUntil = (retryAt: number | null): Outcome => ({
  item: "failed",
  end: { because: "down", retryAt, isForAll: retryAt !== null },
});
export const DOWN = downUntil(null);
export const REFUSED: Outcome = {
  item: "failed",
  end: { because: "refused", retryAt: null, isForAll: false },
};
export const POISONED = new Error("Nobody can act on it.");

const PAUSES: Readonly<Record<string, readonly number[]>> = {
  down: [0.5, 1, 2, 4, 5].map((minutes) => minutes * MINUTE),
  refused: [5, 15, 60].map((minutes) => minutes * MINUTE),
};
const NONE: readonly number[] = [];
export const pausesOf = (because: string): readonly number[] => PAUSES[because] ?? NONE;

/** Delay of a postponed item. */
export const STEP = 5 * MINUTE;

type Clock = ReturnType<typeof createVirtualClock>;
type Answer = (item: Item) => Outcome | Promise<Outcome>;
type MutableWork = { -readonly [Name in keyof Work<Item>]: Work<Item>[Name] };

/** What differs from a queue of three items a second, each of which is done. */
interface Differences {
  readonly answer?: Answer;
  readonly atOnce?: number;
  readonly pace?: number;
  readonly clock?: Clock;
}

/** A queue in memory. An item that is done leaves it; one that is postponed is due again after {@link STEP}. */
export const aQueue = (
  due: Readonly<Record<string, number>>,
  { answer = () => DONE, atOnce = 3, pace = SECOND, clock = createVirtualClock(NOW) }: Differences = {},
) => {
  const items = new Map(Object.entries(due));
  const acted: { readonly key: string; readonly at: number }[] = [];
  const done: string[] = [];
  const failures: unknown[] = [];
  const state: { held: Lease | null; health: QueueHealth; answer: Answer; reads: number } = {
    held: null,
    health: HEALTHY,
    answer,
    reads: 0,
  };
  const queue: Queue<Item> = {
    due: async (moment, limit) => {
      state.reads += 1;
      return [...items]
        .flatMap(([key, dueAt]) => (dueAt <= moment ? [{ key, dueAt }] : []))
        .toSorted((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit);
    },
    take: async (lease, moment) => {
      const { held, health } = state;
      const isHeld = held !== null && held.until > moment && held.worker !== lease.worker;
      if (isHeld || health.pausedUntil > moment) return null;
      state.held = lease;
      return health;
    },
    release: async ({ worker }, health) => {
      if (state.held?.worker === worker) Object.assign(state, { held: null, health });
    },
  };
  const act = async (item: Item): Promise<Outcome> => {
    acted.push({ key: item.key, at: clock.now() });
    const said = await state.answer(item);
    if (said.item === "done" && items.delete(item.key)) done.push(item.key);
    return said;
  };
  const postpone = async ({ key, dueAt }: Item): Promise<void> => {
    if (items.get(key) === dueAt) items.set(key, clock.now() + STEP);
  };
  const onFailure = (error: unknown): void => void failures.push(error);
  const work: MutableWork = {
    queue,
    keyOf: ({ key }) => key,
    dueAtOf: ({ dueAt }) => dueAt,
    atOnce,
    pace,
    act: eachAlone(act, onFailure),
    postpone,
    staysFor: HOUR,
    pausesOf,
  };
  let workers = 0;
  const run: Run = {
    now: clock.now,
    wait: clock.wait,
    newWorker: () => `worker ${(workers += 1)}`,
    onFailure,
  };
  return {
    clock,
    items,
    acted,
    done,
    failures,
    state,
    work,
    run,
    /** The keys that were acted on, by their moments. */
    batches: () => [...Map.groupBy(acted, ({ at }) => at).values()].map((some) => some.map(({ key }) => key)),
    answering: (answer: Answer) => {
      state.answer = answer;
    },
    /** Gives the queue one turn, and counts what became of its items. */
    workOff: async (milliseconds = MINUTE) => {
      const [doneBefore, actedBefore] = [done.length, acted.length];
      const left = await clock.during(turnOf(work, run)(clock.now() + milliseconds));
      const count = done.length - doneBefore;
      return { state: left.state, done: count, failed: acted.length - actedBefore - count };
    },
  };
};

/** So many items, one a second, the last due now. */
export const due = (count: number, last = NOW): Record<string, number> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, place) => [`${place}`, last - (count - 1 - place) * SECOND]),
  );
