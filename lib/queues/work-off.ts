import { SECOND } from "../duration.ts";
import { afterBatch, type Down, type Lease, type Pauses, type QueueHealth } from "./health.ts";

/** Items to work off, and the queue's lease and health. Reads are strongly consistent. */
export interface Queue<Item, Reason extends string = string> {
  /** Items due by the moment, oldest first. */
  due(moment: number, limit: number): Promise<readonly Item[]>;
  /** Takes the lease, or extends the worker's own. Null: another worker has it, or the queue is paused. */
  take(lease: Lease, moment: number): Promise<QueueHealth<Reason> | null>;
  /** Ends the lease, if it is still the worker's, and stores the health. */
  release(lease: Pick<Lease, "worker">, health: QueueHealth<Reason>): Promise<void>;
}

export interface Outcome<Reason extends string = string> {
  /** `done`: it has left the queue or moved in it. `failed`: it waits for its next step. `busy`: it is tried again soon. */
  readonly item: "done" | "failed" | "busy";
  /** Health of the other end that this shows; null: neither. */
  readonly end: "up" | Down<Reason> | null;
}

export interface Work<
  Item,
  Reason extends string = string,
  Result extends Outcome<Reason> = Outcome<Reason>,
> {
  readonly queue: Queue<Item, Reason>;
  readonly keyOf: (item: Item) => string;
  readonly dueAtOf: (item: Item) => number;
  readonly atOnce: number;
  /** Least time from the start of a batch to the next one's. */
  readonly pace: number;
  /** One result for each item, in their order. Null, or a rejection, is this service's fault: the items have failed. */
  readonly act: (items: readonly Item[]) => Promise<readonly (Result | null)[]>;
  /** Moves an item that failed to its next step, or out of the queue. Null: acting on it was rejected. */
  readonly postpone: (item: Item, result: Result | null, moment: number) => Promise<void>;
  /** Time after its due time from which a failed item moves on although its queue is paused. */
  readonly staysFor: number;
  readonly pausesOf: Pauses<Reason>;
}

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

/** Longest pause that a run waits out instead of leaving it to the next one. */
const SHORT_PAUSE_MILLISECONDS = 10 * SECOND;

/** Tries of a busy item in a turn, and the time between two of them. */
const BUSY_TRIES = 8;
const BUSY_MILLISECONDS = 100;

/** `empty`: nothing is due. `more`: the queue needs another turn. `waiting`: items are due, but have to wait. */
export interface WorkedOff {
  readonly state: "empty" | "more" | "waiting";
  /** Due time of the oldest item left; null: none is due. */
  readonly oldest: number | null;
}

/** Works off a queue for one turn. No batch starts from `until` on. */
export type Turn = (until: number) => Promise<WorkedOff>;

/** Makes a batch's function of one that acts on a single item. A rejection concerns that item alone. */
export const eachAlone =
  <Item, Result>(act: (item: Item) => Promise<Result>, onFailure: Run["onFailure"]) =>
  (items: readonly Item[]): Promise<readonly (Result | null)[]> =>
    Promise.all(
      items.map(async (item) =>
        act(item).catch((error: unknown) => {
          onFailure(error);
          return null;
        }),
      ),
    );

/** The item that probes whether the other end is back: the newest, or one at a changing place: the oldest may cause the failures. */
const probeAmong = <Item>(due: readonly Item[], tries: number): readonly Item[] => {
  const place = tries % 2 === 1 ? due.length - 1 : (tries / 2) % due.length;
  return due.slice(place, place + 1);
};

/** A queue in one turn: an item that failed in it, or was busy too often, is not tried again. */
const createTurn = <Item, Reason extends string, Result extends Outcome<Reason>>(
  work: Work<Item, Reason, Result>,
  { now, onFailure }: Run,
) => {
  const { queue, keyOf } = work;
  const tries = new Map<string, number>();
  const isOpen = (item: Item): boolean => (tries.get(keyOf(item)) ?? 0) < BUSY_TRIES;
  return {
    /** Due items, oldest first, and those of them that can be tried. */
    look: async (limit: number) => {
      const due = await queue.due(now(), limit + tries.size);
      return { due, open: due.filter(isOpen).slice(0, limit) };
    },

    act: async (batch: readonly Item[]) => {
      const results = await work.act(batch).catch((error: unknown) => {
        onFailure(error);
        return [];
      });
      return batch.map((item, index) => ({ item, result: results[index] ?? null }));
    },

    leave: async (item: Item, result: Result | null, moment: number, isPaused: boolean): Promise<void> => {
      const key = keyOf(item);
      const isBusy = result?.item === "busy";
      tries.set(key, isBusy ? (tries.get(key) ?? 0) + 1 : BUSY_TRIES);
      if (isBusy || (isPaused && moment - work.dueAtOf(item) < work.staysFor)) return;
      await work.postpone(item, result, moment).catch(onFailure);
    },
  };
};

const workBatches = async <Item, Reason extends string, Result extends Outcome<Reason>>(
  { queue, atOnce, pace, pausesOf }: Work<Item, Reason, Result>,
  turn: ReturnType<typeof createTurn<Item, Reason, Result>>,
  { now, wait }: Run,
  lease: Lease,
  taken: QueueHealth<Reason>,
  until: number,
): Promise<QueueHealth<Reason>> => {
  let health = taken;
  const isPaused = (): boolean => health.pausedUntil > now();
  try {
    for (let isLast = false, probes = 0; !isLast && now() < until && !isPaused();) {
      // Read under the lease: another worker may have moved them since.
      const { open } = await turn.look(atOnce);
      if (open.length === 0) break;
      const began = now();
      // A probe that shows nothing is followed by another item.
      const batch = health.failures > 0 ? probeAmong(open, health.failures + probes++) : open;
      const acted = await turn.act(batch);
      const moment = now();
      const ends = acted.map(({ result }) => result?.end ?? null);
      health = afterBatch(health, ends, pausesOf, moment);
      const left = acted.filter(({ result }) => result?.item !== "done");
      await Promise.all(left.map(({ item, result }) => turn.leave(item, result, moment, isPaused())));
      isLast = batch === open && open.length < atOnce && left.length === 0;
      const isBusy = left.length === acted.length && left.some(({ result }) => result?.item === "busy");
      const rest = began + Math.max(pace, isBusy ? BUSY_MILLISECONDS : 0) - now();
      if (!isPaused() && rest > 0) await wait(rest);
    }
    return health;
  } finally {
    await queue.release(lease, health);
  }
};

/** Works off a queue for a turn, or until it is empty or paused: under its lease, oldest first, at its pace. */
export const turnOf =
  <Item, Reason extends string, Result extends Outcome<Reason>>(
    work: Work<Item, Reason, Result>,
    run: Run,
  ): Turn =>
  async (until) => {
    const { queue, dueAtOf } = work;
    const { now } = run;
    const [first] = await queue.due(now(), 1);
    if (first === undefined) return { state: "empty", oldest: null };
    const lease = { worker: run.newWorker(), until: now() + LEASE_MILLISECONDS };
    const taken = await queue.take(lease, now());
    if (taken === null) return { state: "waiting", oldest: dueAtOf(first) };
    const turn = createTurn(work, run);
    const turnEnds = Math.min(until, now() + TURN_MILLISECONDS);
    const { pausedUntil } = await workBatches(work, turn, run, lease, taken, turnEnds);
    const pause = pausedUntil - now();
    if (pause > 0 && pause <= SHORT_PAUSE_MILLISECONDS && now() + pause < until) {
      await run.wait(pause);
      return { state: "more", oldest: null };
    }
    // Another worker may have left an item, as the lease was this one's.
    const { due, open } = await turn.look(1);
    const [oldest] = due;
    if (oldest === undefined) return { state: "empty", oldest: null };
    const isOver = open.length === 0 || pausedUntil > now() || now() >= until;
    return { state: isOver ? "waiting" : "more", oldest: dueAtOf(oldest) };
  };
