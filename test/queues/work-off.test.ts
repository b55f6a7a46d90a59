import fc from "fast-check";
import { HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import { HEALTHY, type QueueHealth } from "../../lib/queues/health.ts";
import { turnOf, type Outcome } from "../../lib/queues/work-off.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import {
  aQueue,
  BUSY,
  DONE,
  DOWN,
  downUntil,
  DROPPED,
  due,
  OWN,
  POISONED,
  REFUSED,
  STEP,
  UNKNOWN,
  type Item,
} from "./memory-queue.ts";
import { createVirtualClock } from "./virtual-clock.ts";

describe("a turn", () => {
  test("acts oldest first, a second's share each second", async () => {
    const queue = aQueue({ b: NOW - 2, d: NOW, a: NOW - 3, c: NOW - 1 });
    expect(await queue.workOff()).toEqual({ state: "empty", done: 4, failed: 0 });
    expect(queue.batches()).toEqual([["a", "b", "c"], ["d"]]);
    expect(queue.acted.at(-1)?.at).toBe(NOW + SECOND);
    // Before the lease, each batch, and once more after the lease.
    expect(queue.state.reads).toBe(4);
  });
  test("takes no longer for an other end that is slow than for one that is quick", async () => {
    const clock = createVirtualClock(NOW);
    const queue = aQueue(due(7), { answer: () => clock.wait(SECOND).then(() => DONE), clock });
    await queue.workOff();
    expect(queue.acted.at(-1)?.at).toBe(NOW + 2 * SECOND);
  });
  test("takes no lease of an empty queue", async () => {
    const queue = aQueue({});
    queue.work.queue.take = () => Promise.reject(POISONED);
    expect(await turnOf(queue.work, queue.run)(NOW + MINUTE)).toEqual({ state: "empty", oldest: null });
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
});

describe("an item that fails", () => {
  test.each<[what: string, answer: () => Outcome | Promise<Outcome>, failures: readonly unknown[]]>([
    ["for a reason of its own", () => OWN, []],
    ["for an unknown reason", () => UNKNOWN, []],
    ["by an error, which is reported", () => Promise.reject(POISONED), [POISONED]],
  ])("moves to its next step, and pauses nothing: %s", async (_, fail, failures) => {
    const queue = aQueue(due(4), { atOnce: 1, answer: ({ key }) => (key === "0" ? fail() : DONE) });
    expect(await queue.workOff()).toEqual({ state: "empty", done: 3, failed: 1 });
    expect(queue.batches()).toEqual([["0"], ["1"], ["2"], ["3"]]);
    expect(Object.fromEntries(queue.items)).toEqual({ 0: NOW + STEP });
    expect([queue.state.health, queue.failures]).toEqual([HEALTHY, failures]);
  });
  test.each([
    ["in a healthy queue", HEALTHY],
    // The newest probes first.
    ["as a probe", { ...HEALTHY, failures: 1, because: "down" }],
  ])("and cannot be moved is reported, and holds up no other, %s", async (_, health) => {
    const queue = aQueue(due(3), {
      answer: ({ key }) => (key === "2" ? Promise.reject(POISONED) : DONE),
    });
    queue.state.health = health;
    queue.work.postpone = () => Promise.reject(POISONED);
    await queue.workOff();
    expect(queue.done.toSorted()).toEqual(["0", "1"]);
    expect(new Set(queue.failures)).toEqual(new Set([POISONED]));
  });
});

describe("an item that is busy", () => {
  test("is tried again at once, and delays no other", async () => {
    let tries = 0;
    const answer = ({ key }: Item) => (key === "0" && (tries += 1) < 4 ? BUSY : DONE);
    const queue = aQueue(due(5), { answer, atOnce: 2, pace: 0 });
    expect(await queue.workOff()).toMatchObject({ state: "empty", done: 5 });
    expect(queue.clock.now()).toBeLessThan(NOW + SECOND);
    expect(queue.done).toEqual(["1", "2", "3", "0", "4"]);
  });
  test.each<[what: string, count: number, after: readonly number[]]>([
    ["a tenth of a second later, where the whole batch was", 1, [0, 100]],
    ["at once, where another was done", 2, [0, 0]],
  ])("is tried again %s", async (_, count, after) => {
    let tries = 0;
    const answer = ({ key }: Item) => (key === "0" && (tries += 1) < 2 ? BUSY : DONE);
    const queue = aQueue(due(count), { answer, atOnce: 2, pace: 0 });
    await queue.workOff();
    expect(queue.acted.flatMap(({ key, at }) => (key === "0" ? [at - NOW] : []))).toEqual(after);
  });
  test("all the time is left to another turn, where it is", async () => {
    const answer = ({ key }: Item) => (key === "0" ? BUSY : DONE);
    const queue = aQueue(due(5), { answer, atOnce: 2, pace: 0 });
    expect(await queue.workOff()).toMatchObject({ state: "waiting", done: 4, failed: 8 });
    expect([...queue.items.keys()]).toEqual(["0"]);
  });
});

test("a batch that is rejected leaves its items for the next step, once reported", async () => {
  const queue = aQueue(due(5), { atOnce: 2 });
  queue.work.act = () => Promise.reject(POISONED);
  expect(await queue.workOff()).toMatchObject({ state: "empty" });
  expect([...queue.items.values()].every((at) => at >= NOW + STEP)).toBe(true);
  expect(queue.failures).toEqual([POISONED, POISONED, POISONED]);
});

describe("a queue whose other end does not answer", () => {
  const [UNTIL_ONE, UNTIL_TWO] = [downUntil(NOW + HOUR), downUntil(NOW + 2 * HOUR)];
  /** The pauses, in minutes, each probed when it ends. */
  const pausesOf = async (answer: Outcome, count: number): Promise<readonly number[]> => {
    const queue = aQueue(due(1), { answer: () => answer });
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
    ["pauses until the time that it names", downUntil(NOW + 20 * MINUTE), [20]],
  ])("%s", async (_, answer, pauses) => {
    expect(await pausesOf(answer, pauses.length)).toEqual(pauses);
  });

  test.each<[what: string, answers: readonly Outcome[], health: Partial<QueueHealth>]>([
    ["one item shows that it answers", [DOWN, DONE, REFUSED], HEALTHY],
    ["a failure of an item's own shows so too", [DOWN, OWN, DOWN], HEALTHY],
    ["other failures show nothing", [UNKNOWN, DOWN, UNKNOWN], { because: "down" }],
    ["what is only dropped shows nothing", [DROPPED, DOWN, DOWN], { because: "down" }],
    ["a refused credential goes first", [DOWN, REFUSED, DOWN], { because: "refused" }],
    ["a time that it names counts beside an answer", [DONE, UNTIL_ONE, DONE], { because: "down" }],
    ["the latest of the times counts", [UNTIL_ONE, UNTIL_TWO, UNTIL_ONE], { pausedUntil: NOW + 2 * HOUR }],
  ])("is paused, or is not: %s", async (_, answers, health) => {
    const queue = aQueue(due(3), { answer: ({ key }) => answers[Number(key)] ?? DONE });
    await queue.workOff(SECOND);
    expect(queue.state.health).toMatchObject(health);
  });

  test("fails still where a probe shows nothing", async () => {
    const failing: QueueHealth = { failures: 3, because: "down", failingSince: NOW, pausedUntil: NOW };
    const queue = aQueue(due(1), { answer: () => UNKNOWN });
    queue.state.health = failing;
    await queue.workOff();
    expect(queue.state.health).toEqual(failing);
  });
  test("is tried again in the same run after a short pause", async () => {
    const queue = aQueue(due(2), { answer: () => DOWN });
    queue.work.pausesOf = () => [5 * SECOND];
    expect(await queue.workOff()).toMatchObject({ state: "more", failed: 2 });
    expect(queue.clock.now()).toBe(NOW + 5 * SECOND);
    expect(await queue.workOff(5 * SECOND)).toMatchObject({ state: "waiting", failed: 1 });
  });
  test("moves nothing in its pause but what is an hour overdue", async () => {
    const queue = aQueue({ old: NOW - HOUR, later: NOW - HOUR + 1 }, { answer: () => DOWN });
    await queue.workOff();
    expect(Object.fromEntries(queue.items)).toEqual({ old: NOW + STEP, later: NOW - HOUR + 1 });
  });
  test("is probed by one item at a time, and then worked off", async () => {
    const queue = aQueue(due(3), { answer: () => DOWN });
    for (const pause of [0, 1, 2, 3, 4, 5, 6]) {
      await queue.workOff();
      expect(queue.batches()).toHaveLength(pause + 1);
      queue.clock.set(queue.state.health.pausedUntil);
    }
    const [, ...probes] = queue.batches();
    expect(probes[0]).toEqual(["2"]);
    expect(new Set(probes.flat())).toEqual(new Set(["0", "1", "2"]));
    queue.answering(() => DONE);
    expect(await queue.workOff()).toEqual({ state: "empty", done: 3, failed: 0 });
    expect(queue.batches().map(({ length }) => length)).toEqual([3, 1, 1, 1, 1, 1, 1, 1, 2]);
    expect(queue.state.health).toEqual(HEALTHY);
  });
});

describe("two workers", () => {
  test("leave nothing that comes while the first gives its lease back", async () => {
    const queue = aQueue(due(1));
    const { clock, work, run } = queue;
    const release = work.queue.release.bind(work.queue);
    work.queue.release = async (...given) => {
      queue.items.set("late", NOW);
      expect(await turnOf(work, run)(NOW + MINUTE)).toMatchObject({ state: "waiting" });
      await release(...given);
    };
    expect(await clock.during(turnOf(work, run)(NOW + MINUTE))).toMatchObject({ state: "more" });
  });
  test("take turns: one that died gives way when its lease ends", async () => {
    const silent = Promise.withResolvers<Outcome>();
    const queue = aQueue(due(1), { answer: () => silent.promise });
    const { clock, work, run } = queue;
    const died = turnOf(work, run)(NOW + MINUTE);
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

test("every item is done in the end, at the rate, outside pauses", async () => {
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
          const outcome = outcomes[tries++ % outcomes.length] ?? DONE;
          if (outcome instanceof Error) throw outcome;
          return outcome;
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
