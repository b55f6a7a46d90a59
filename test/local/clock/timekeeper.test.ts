import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { DAY, HOUR, MINUTE, SECOND } from "../../../lib/duration.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import { createTimekeeper, ImpossibleMove, type Schedules } from "../../../local/clock/timekeeper.ts";
import type { TimedStore } from "../../../sandbox/clock.ts";
import { cases } from "../../../testing/support/proof.ts";

/** Real time that a move may take in these tests. Clocks run on meanwhile. */
const TOLERANCE = MINUTE;

/** A store with given events. */
const aStore = (events: readonly Instant[], onRun?: (event: Instant) => void): TimedStore => {
  const waiting = [...events].sort((a, b) => a - b);
  return {
    nextEventAt: () => waiting[0] ?? null,
    runUntil: async (moment) => {
      for (; (waiting[0] ?? Infinity) <= moment; waiting.shift()) onRun?.(waiting[0] ?? 0);
    },
    reset: () => void waiting.splice(0),
    save: () => "",
  };
};

const started: { stop(): void }[] = [];
afterEach(() => {
  for (const timekeeper of started.splice(0)) timekeeper.stop();
});

const startTimekeeper = (stores: Record<string, TimedStore>, schedules: Partial<Schedules> = {}) => {
  const clock = createMovedClock();
  const log: string[] = [];
  /** Times at which the schedules ran in a move. */
  const runs: Instant[] = [];
  let changes = 0;
  const timekeeper = createTimekeeper({
    clock,
    stores,
    schedules: {
      start: () => undefined,
      runAll: async () => void runs.push(clock.now()),
      idle: async () => undefined,
      stop: () => undefined,
      ...schedules,
    },
    onChange: () => void (changes += 1),
    log: (line) => void log.push(line),
  });
  started.push(timekeeper);
  return { clock, log, runs, timekeeper, changes: () => changes };
};

/** Times relative to a start, to the second. */
const after = (start: Instant, moments: readonly Instant[]): number[] =>
  moments.map((moment) => Math.floor((moment - start) / SECOND) * SECOND);

/** When the service tries again after an event at this time. */
const followUps = (event: number): number[] =>
  [0, 10 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR].map((pause) => event + pause);

describe("a move", () => {
  test.each<[rule: string, event: number | null, length: number, stops: readonly number[]]>([
    ["each day and at its target", null, 2 * DAY + HOUR, [0, DAY, 2 * DAY, 2 * DAY + HOUR]],
    [
      "at each event and what follows it",
      3 * HOUR,
      12 * HOUR,
      [0, ...followUps(3 * HOUR), 9 * HOUR, 12 * HOUR],
    ],
  ])("runs the schedules at its beginning, %s", async (_, event, length, stops) => {
    const start = Date.now();
    const store = aStore(event === null ? [] : [start + event]);
    const { clock, runs, timekeeper, changes } = startTimekeeper({ store });
    await timekeeper.move(() => start + length);
    expect(after(start, runs)).toEqual(stops);
    expect(changes()).toBe(runs.length);
    const moved = clock.now();
    await sleep(5);
    expect(clock.now()).toBeGreaterThan(moved);
  });

  test("continues with what follows an event of the move before", async () => {
    const start = Date.now();
    const { runs, timekeeper } = startTimekeeper({ store: aStore([start + HOUR]) });
    await timekeeper.move(() => start + HOUR);
    runs.length = 0;
    await timekeeper.move(() => start + 3 * HOUR);
    expect(after(start, runs)).toEqual([...followUps(HOUR), 3 * HOUR]);
  });

  test("makes every event happen once, in order, at its moment", async () => {
    const anEvent = fc.record({ store: fc.nat(1), at: fc.integer({ min: -DAY, max: 400 * HOUR }) });
    await fc.assert(
      fc.asyncProperty(fc.array(anEvent, { maxLength: 12 }), async (events) => {
        const start = Date.now();
        const happened: Instant[] = [];
        const late: number[] = [];
        const of = (index: number): TimedStore =>
          aStore(
            events.filter(({ store }) => store === index).map(({ at }) => start + at),
            (event) => {
              happened.push(event);
              late.push(clock.now() - Math.max(event, start));
            },
          );
        const { clock, log, timekeeper } = startTimekeeper({ first: of(0), second: of(1) });
        await timekeeper.move(() => start + 400 * HOUR);
        const expected = events.map(({ at }) => start + at).sort((a, b) => a - b);
        expect(happened.toSorted((a, b) => a - b)).toEqual(expected);
        expect(happened.filter((event) => event > start)).toEqual(expected.filter((event) => event > start));
        expect(late.every((delay) => delay >= 0 && delay < TOLERANCE)).toBe(true);
        expect(log).toEqual([]);
      }),
      cases(40, 1_000),
    );
  });

  test("waits for the one before, and begins where that one ended", async () => {
    const { clock, timekeeper } = startTimekeeper({});
    const start = clock.now();
    const begun: Instant[] = [];
    const move = async () => timekeeper.move((now) => (begun.push(now), now + DAY));
    await Promise.all([move(), move()]);
    expect(after(start, begun)).toEqual([0, DAY]);
    expect(clock.now()).toBeGreaterThanOrEqual(start + 2 * DAY);
  });

  test.each([
    ["backwards", -1],
    ["more than ten years ahead", 11 * 365 * DAY],
  ])("%s is refused, and the next one is made", async (_, distance) => {
    const { clock, runs, timekeeper } = startTimekeeper({});
    const start = clock.now();
    await expect(timekeeper.move((now) => now + distance)).rejects.toThrow(ImpossibleMove);
    expect([clock.now() < start + TOLERANCE, runs]).toEqual([true, []]);
    await timekeeper.move((now) => now + DAY);
    expect(clock.now()).toBeGreaterThanOrEqual(start + DAY);
  });

  test("ends at its next stop when the service stops", async () => {
    const start = Date.now();
    const { clock, timekeeper } = startTimekeeper({ store: aStore([start + DAY], () => timekeeper.stop()) });
    await timekeeper.move(() => start + 300 * DAY);
    expect(clock.now()).toBeLessThan(start + 2 * DAY);
  });
});

test("a store that fails is logged, and holds up no other", async () => {
  const start = Date.now();
  const happened: Instant[] = [];
  const { clock, log, timekeeper } = startTimekeeper({
    store: { ...aStore([]), runUntil: async () => Promise.reject(new Error("broken")) },
    other: aStore([start + HOUR], (event) => happened.push(event)),
  });
  await timekeeper.move(() => start + DAY);
  expect(clock.now()).toBeGreaterThanOrEqual(start + DAY);
  expect(happened).toEqual([start + HOUR]);
  expect(new Set(log)).toEqual(new Set(["store: Error: broken"]));
});

test("a store with a new event each time is visited once a day in the end", async () => {
  const start = Date.now();
  let next = start + 1;
  const { clock, log, timekeeper } = startTimekeeper({
    store: {
      ...aStore([]),
      nextEventAt: () => next,
      runUntil: async (moment) => {
        next = moment + 1;
      },
    },
  });
  await timekeeper.move(() => start + 60 * DAY);
  expect(clock.now()).toBeGreaterThanOrEqual(start + 60 * DAY);
  expect(log).toEqual([expect.stringMatching(/^The clock has stopped \d+ times on its way/)]);
});

test("every second schedules start and events happen, except during a move", async () => {
  const start = Date.now();
  const happened: Instant[] = [];
  let [starts, startsInMove, isMoving] = [0, 0, false];
  const { changes, timekeeper } = startTimekeeper(
    { store: aStore([start + 1100], (event) => happened.push(event)) },
    {
      start: () => {
        starts += 1;
        if (isMoving) startsInMove += 1;
      },
      // The move has six stops, and takes longer than a second.
      runAll: () => sleep(300),
    },
  );
  timekeeper.start();
  await sleep(2500);
  expect([starts > 0, happened, changes()]).toEqual([true, [start + 1100], 1]);
  isMoving = true;
  await timekeeper.move((now) => now + HOUR);
  isMoving = false;
  expect(startsInMove).toBe(0);
  timekeeper.stop();
  starts = 0;
  await sleep(1200);
  expect(starts).toBe(0);
});

test("a reset waits for running schedules, and forgets what was to follow", async () => {
  const start = Date.now();
  const order: string[] = [];
  const { clock, runs, timekeeper } = startTimekeeper(
    { store: aStore([start + HOUR]) },
    { idle: async () => void order.push("idle") },
  );
  await timekeeper.move(() => start + HOUR);
  await timekeeper.reset(async () => {
    order.push("reset");
    clock.reset();
  });
  expect(order).toEqual(["idle", "reset"]);
  runs.length = 0;
  await timekeeper.move(() => start + 3 * HOUR);
  expect(after(start, runs)).toEqual([0, 3 * HOUR]);
});
