import fc from "fast-check";
import { HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { HEALTHY, type Lease, type QueueHealth } from "../../lib/queues/health.ts";
import { inTurns } from "../../lib/queues/turns.ts";
import { workOff, type Outcome, type Queue, type Run, type WorkedOff } from "../../lib/queues/work-off.ts";
import { NOW } from "../../testing/support/purchases.ts";
import { createVirtualClock } from "./virtual-clock.ts";

interface Item {
  readonly key: string;
  readonly dueAt: number;
}

const DONE: Outcome = { outcome: "done" };
const OWN: Outcome = { outcome: "failed", isUp: true };
const UNKNOWN: Outcome = { outcome: "failed", isUp: null };
const DOWN: Outcome = { outcome: "unavailable", retryAt: null };
const REFUSED: Outcome = { outcome: "credential-rejected", retryAt: null };
const POISONED = new Error("Nobody can act on it.");

/** Delay of a postponed item. */
const STEP = 5 * MINUTE;

type Clock = ReturnType<typeof createVirtualClock>;
type Answer = (item: Item) => Outcome | Promise<Outcome>;

/** A queue in memory. An item that is done leaves it; one that is postponed is due again after {@link STEP}. */
const aQueue = (
  due: Readonly<Record<string, number>>,
  perSecond = 3,
  clock: Clock = createVirtualClock(NOW),
) => {
  const items = new Map(Object.entries(due));
  const acted: { readonly key: string; readonly at: number }[] = [];
  const done: string[] = [];
  const failures: unknown[] = [];
  const state: { held: Lease | null; health: QueueHealth; answer: Answer } = {
    held: null,
    health: HEALTHY,
    answer: () => DONE,
  };
  const queue: Queue<Item> = {
    due: async (moment, limit) =>
      [...items]
        .flatMap(([key, dueAt]) => (dueAt <= moment ? [{ key, dueAt }] : []))
        .toSorted((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit),
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
    if (said.outcome === "done" && items.delete(item.key)) done.push(item.key);
    return said;
  };
  const postpone = async ({ key, dueAt }: Item): Promise<void> => {
    if (items.get(key) === dueAt) items.set(key, clock.now() + STEP);
  };
  const work = { queue, act, postpone, perSecond, dueAtOf: ({ dueAt }: Item) => dueAt };
  let workers = 0;
  const run: Run = {
    now: clock.now,
    wait: clock.wait,
    newWorker: () => `worker ${(workers += 1)}`,
    onFailure: (error) => void failures.push(error),
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
    workOff: (milliseconds = MINUTE): Promise<WorkedOff> =>
      clock.during(workOff(work, run, clock.now() + milliseconds)),
  };
};

/** So many items, one a second, the last due now. */
const due = (count: number, last = NOW): Record<string, number> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, place) => [`${place}`, last - (count - 1 - place) * SECOND]),
  );

describe("a turn", () => {
  test("acts oldest first, a second's share each second", async () => {
    const queue = aQueue({ b: NOW - 2, d: NOW, a: NOW - 3, c: NOW - 1 });
    expect(await queue.workOff()).toEqual({ state: "empty", done: 4, failed: 0 });
    expect(queue.batches()).toEqual([["a", "b", "c"], ["d"]]);
    expect(queue.acted.at(-1)?.at).toBe(NOW + SECOND);
  });
  test("takes no longer for an other end that is slow than for one that is quick", async () => {
    const queue = aQueue(due(7));
    queue.answering(() => queue.clock.wait(SECOND).then(() => DONE));
    await queue.workOff();
    expect(queue.acted.at(-1)?.at).toBe(NOW + 2 * SECOND);
  });
  test("begins no batch once its time is up", async () => {
    const queue = aQueue(due(7));
    expect(await queue.workOff(SECOND)).toEqual({ state: "waiting", done: 3, failed: 0 });
  });
  test("ends after ten seconds, and asks for another", async () => {
    const queue = aQueue(due(40));
    expect(await queue.workOff()).toEqual({ state: "more", done: 30, failed: 0 });
    expect(await queue.workOff()).toEqual({ state: "empty", done: 10, failed: 0 });
  });
  test("leaves what is not due", async () => {
    const queue = aQueue({ a: NOW + MINUTE });
    expect(await queue.workOff()).toEqual({ state: "empty", done: 0, failed: 0 });
    expect(queue.acted).toEqual([]);
  });
});

describe("an item that fails", () => {
  test.each<[what: string, answer: Answer]>([
    ["for a reason of its own", () => OWN],
    ["for an unknown reason", () => UNKNOWN],
    [
      "by an error",
      () => {
        throw POISONED;
      },
    ],
  ])("moves to its next step, and pauses nothing: %s", async (_, answer) => {
    const queue = aQueue(due(4), 1);
    queue.answering((item) => (item.key === "0" ? answer(item) : DONE));
    expect(await queue.workOff()).toEqual({ state: "empty", done: 3, failed: 1 });
    expect(queue.batches()).toEqual([["0"], ["1"], ["2"], ["3"]]);
    expect(Object.fromEntries(queue.items)).toEqual({ 0: NOW + STEP });
    expect(queue.state.health).toEqual(HEALTHY);
  });
  test("by an error is reported", async () => {
    const queue = aQueue(due(1));
    queue.answering(() => Promise.reject(POISONED));
    await queue.workOff();
    expect(queue.failures).toEqual([POISONED]);
  });
  test("and cannot be moved is reported, and holds up no other", async () => {
    for (const isPaused of [false, true]) {
      const queue = aQueue(due(3));
      // The newest probes first.
      queue.state.health = {
        ...HEALTHY,
        failures: isPaused ? 1 : 0,
        because: isPaused ? "unavailable" : null,
      };
      queue.answering(({ key }) => (key === "2" ? Promise.reject(POISONED) : DONE));
      queue.work.postpone = () => Promise.reject(POISONED);
      await queue.workOff();
      expect(queue.done.toSorted()).toEqual(["0", "1"]);
      expect(new Set(queue.failures)).toEqual(new Set([POISONED]));
    }
  });
});

describe("a queue whose other end does not answer", () => {
  /** The pauses, in minutes, each probed when it ends. */
  const pausesOf = async (answer: Outcome, count: number): Promise<readonly number[]> => {
    const queue = aQueue(due(1));
    queue.answering(() => answer);
    queue.work.postpone = () => Promise.resolve();
    const pauses: number[] = [];
    while (pauses.length < count) {
      expect(await queue.workOff()).toMatchObject({ state: "waiting", failed: 1 });
      const until = queue.state.health.pausedUntil;
      pauses.push((until - queue.clock.now()) / MINUTE);
      queue.clock.set(until - 1);
      expect(await queue.workOff()).toEqual({ state: "waiting", done: 0, failed: 0 });
      queue.clock.set(until);
    }
    return pauses;
  };
  test.each<[what: string, answer: Outcome, pauses: readonly number[]]>([
    ["pauses for longer and longer", DOWN, [0.5, 1, 2, 4, 5, 5]],
    ["pauses for longer where it refuses the credential", REFUSED, [5, 15, 60, 60]],
    ["pauses until the time that it names", { ...DOWN, retryAt: NOW + 20 * MINUTE }, [20]],
  ])("%s", async (_, answer, pauses) => {
    expect(await pausesOf(answer, pauses.length)).toEqual(pauses);
  });

  test.each<[what: string, answers: readonly Outcome[], because: string | null]>([
    ["one item shows that it answers", [DOWN, DONE, REFUSED], null],
    ["a failure of an item's own shows so too", [DOWN, OWN, DOWN], null],
    ["other failures show nothing", [UNKNOWN, DOWN, UNKNOWN], "unavailable"],
    ["a refused credential goes first", [DOWN, REFUSED, DOWN], "credential-rejected"],
    [
      "a time that it names counts beside an answer",
      [DONE, { ...DOWN, retryAt: NOW + HOUR }, DONE],
      "unavailable",
    ],
  ])("is paused, or is not: %s", async (_, answers, because) => {
    const queue = aQueue(due(3));
    queue.answering(({ key }) => answers[Number(key)] ?? DONE);
    await queue.workOff(SECOND);
    expect(queue.state.health.because).toBe(because);
  });

  test("fails still where a probe shows nothing", async () => {
    const queue = aQueue(due(1));
    const failing: QueueHealth = { failures: 3, because: "unavailable", failingSince: NOW, pausedUntil: NOW };
    queue.state.health = failing;
    queue.answering(() => UNKNOWN);
    await queue.workOff();
    expect(queue.state.health).toEqual(failing);
  });
  test("keeps to the latest of the times that it names", async () => {
    const queue = aQueue(due(3));
    queue.answering(({ key }) => ({ ...DOWN, retryAt: NOW + (key === "1" ? 20 : 10) * MINUTE }));
    await queue.workOff();
    expect(queue.state.health.pausedUntil).toBe(NOW + 20 * MINUTE);
  });
  test("moves nothing in its pause but what is an hour overdue", async () => {
    const queue = aQueue({ old: NOW - HOUR, later: NOW - HOUR + 1 });
    queue.answering(() => DOWN);
    await queue.workOff();
    expect(Object.fromEntries(queue.items)).toEqual({ old: NOW + STEP, later: NOW - HOUR + 1 });
  });
  test("is probed by one item, the newest in turn with each other, and then worked off at once", async () => {
    const queue = aQueue(due(3));
    queue.answering(() => DOWN);
    for (const pause of [0, 1, 2, 3, 4, 5, 6]) {
      await queue.workOff();
      expect(queue.batches()).toHaveLength(pause + 1);
      queue.clock.set(queue.state.health.pausedUntil);
    }
    const [first, ...probes] = queue.batches();
    expect(first).toHaveLength(3);
    expect(probes.every(({ length }) => length === 1)).toBe(true);
    expect(probes[0]).toEqual(["2"]);
    expect(new Set(probes.flat())).toEqual(new Set(["0", "1", "2"]));
    queue.answering(() => DONE);
    expect(await queue.workOff()).toEqual({ state: "empty", done: 3, failed: 0 });
    expect(
      queue
        .batches()
        .slice(7)
        .map(({ length }) => length),
    ).toEqual([1, 2]);
    expect(queue.state.health).toEqual(HEALTHY);
  });
});

describe("two workers", () => {
  test("act once on each item", async () => {
    const queue = aQueue(due(9));
    const { clock, work, run } = queue;
    const both = Promise.all([workOff(work, run, NOW + MINUTE), workOff(work, run, NOW + MINUTE)]);
    expect((await clock.during(both)).map(({ done }) => done).toSorted()).toEqual([0, 9]);
    expect(queue.acted).toHaveLength(9);
  });
  test("take turns: one that died gives way when its lease ends, and what it does later changes no lease", async () => {
    const queue = aQueue(due(1));
    const { clock, work, run } = queue;
    const silent = Promise.withResolvers<Outcome>();
    queue.answering(() => silent.promise);
    const died = workOff(work, run, NOW + MINUTE);
    await clock.during(Promise.resolve());
    queue.answering(() => DONE);
    clock.set(NOW + MINUTE - 1);
    expect(await queue.workOff()).toMatchObject({ state: "waiting", done: 0 });
    clock.set(NOW + MINUTE);
    expect(await queue.workOff()).toMatchObject({ state: "empty", done: 1 });
    silent.resolve(DOWN);
    await clock.during(died);
    expect([queue.state.health, queue.done]).toEqual([HEALTHY, ["0"]]);
  });
});

describe("a worker that dies", () => {
  /** Makes the calls from a place on fail, or that one alone: before they take effect, or after. */
  const failing = (queue: ReturnType<typeof aQueue>, place: number, isDead: boolean, isAfter: boolean) => {
    let calls = 0;
    const guard =
      <Given extends readonly unknown[], Answer>(call: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        const isHit = isDead ? calls >= place : calls === place;
        calls += 1;
        if (isHit && !isAfter) throw new Error("The worker has died.");
        const answer = await call(...given);
        if (isHit) throw new Error("The worker has died.");
        return answer;
      };
    const { queue: inner, act, postpone, ...others } = queue.work;
    const due = guard(inner.due.bind(inner));
    const guarded = { due, take: guard(inner.take.bind(inner)), release: guard(inner.release.bind(inner)) };
    const work = { ...others, queue: guarded, act: guard(act), postpone: guard(postpone) };
    const { clock, run } = queue;
    return {
      run: () => clock.during(workOff(work, run, clock.now() + MINUTE).catch(() => undefined)),
      calls: () => calls,
    };
  };

  test.each([
    ["for good, before a call", true, false],
    ["for good, after a call", true, true],
    ["in one call, before it takes effect", false, false],
    ["in one call, after it took effect", false, true],
  ])("leaves nothing undone: %s", async (_, isDead, isAfter) => {
    for (let place = 0, calls = 1; place < calls; place += 1) {
      const queue = aQueue(due(5), 2);
      const tried = new Set<string>();
      // One fails at its first try, and one is poisoned then.
      queue.answering(({ key }) => {
        const isFirst = !tried.has(key);
        tried.add(key);
        if (isFirst && key === "1") return UNKNOWN;
        if (isFirst && key === "2") throw POISONED;
        return DONE;
      });
      const dying = failing(queue, place, isDead, isAfter);
      await dying.run();
      calls = dying.calls();
      queue.clock.set(NOW + 2 * STEP);
      expect(await queue.workOff()).toMatchObject({ state: "empty" });
      queue.clock.set(NOW + 4 * STEP);
      expect(await queue.workOff()).toMatchObject({ state: "empty" });
      expect(queue.done.toSorted()).toEqual(["0", "1", "2", "3", "4"]);
      expect(place).toBeLessThan(50);
    }
  });
});

describe("queues in turns", () => {
  const inTurnsAtOnce = async (
    atOnce: number,
    hot: ReturnType<typeof aQueue>,
    quiet: ReturnType<typeof aQueue>,
  ) => {
    const until = NOW + 10 * MINUTE;
    await hot.clock.during(
      inTurns(new Map(Object.entries({ hot, quiet })), atOnce, async ({ work, run }) =>
        (await workOff(work, run, until)).state === "more" ? "more" : "done",
      ),
    );
    expect([hot.items.size, quiet.items.size]).toEqual([0, 0]);
    return (quiet.acted[0]?.at ?? Infinity) - NOW;
  };
  test("let a quiet one wait for one turn of a hot one, or not at all beside it", async () => {
    for (const [atOnce, longest] of [
      [1, 10 * SECOND],
      [2, 0],
    ] as const) {
      const clock = createVirtualClock(NOW);
      const delay = await inTurnsAtOnce(atOnce, aQueue(due(200), 3, clock), aQueue(due(1), 3, clock));
      expect(delay).toBeLessThanOrEqual(longest);
    }
  });
  test("let none wait for one whose other end is silent for seconds", async () => {
    const clock = createVirtualClock(NOW);
    const silent = aQueue(due(9), 3, clock);
    silent.answering(() => clock.wait(15 * SECOND).then(() => DONE));
    expect(await inTurnsAtOnce(2, silent, aQueue(due(1), 3, clock))).toBe(0);
  });
});

test("every item is done in the end, at the rate and not in a pause, whatever came before the other end answered", async () => {
  const outcome = fc.constantFrom<Outcome | Error>(DONE, OWN, UNKNOWN, DOWN, DOWN, DOWN, REFUSED, POISONED);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: -2 * HOUR, max: HOUR }), { minLength: 1, maxLength: 20 }),
      fc.array(outcome, { minLength: 1 }),
      fc.integer({ min: 0, max: 2 * HOUR }),
      async (offsets, outcomes, outage) => {
        const queue = aQueue(Object.fromEntries(offsets.map((offset, place) => [`${place}`, NOW + offset])));
        let tries = 0;
        queue.answering(() => {
          expect(queue.state.health.pausedUntil).toBeLessThanOrEqual(queue.clock.now());
          if (queue.clock.now() >= NOW + outage) return DONE;
          const said = outcomes[tries++ % outcomes.length] ?? DONE;
          if (said instanceof Error) throw said;
          return said;
        });
        for (let minute = 0; minute < 4 * 60; minute += 1) {
          queue.clock.set(Math.max(queue.clock.now(), NOW + minute * MINUTE));
          await queue.workOff(50 * SECOND);
        }
        expect(new Set([...queue.failures, POISONED])).toEqual(new Set([POISONED]));
        expect(queue.items.size).toBe(0);
        expect(queue.done).toHaveLength(offsets.length);
        const perSecond = Map.groupBy(queue.acted, ({ at }) => at);
        expect(Math.max(...[...perSecond.values()].map(({ length }) => length))).toBeLessThanOrEqual(3);
      },
    ),
    { numRuns: 40 },
  );
});
