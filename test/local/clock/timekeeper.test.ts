import fc from "fast-check";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import { createStoreEvents } from "../../../local/clock/store-events.ts";
import { createTimekeeper, ImpossibleMove, type Timekeeper } from "../../../local/clock/timekeeper.ts";
import type { Schedules } from "../../../local/lambda/schedules.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { TimedStore } from "../../../sandbox/clock.ts";
import { cases } from "../../../testing/support/proof.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Real time that a move may take in these tests. Clocks run on meanwhile. */
const TOLERANCE = MINUTE;

/** A store with given events, and possibly one that recurs. */
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

const started: Timekeeper[] = [];
afterEach(() => {
  for (const timekeeper of started.splice(0)) timekeeper.stop();
});

const startTimekeeper = (stores: Record<string, TimedStore>, schedules: Partial<Schedules> = {}) => {
  const clock = createMovedClock();
  const log: string[] = [];
  const write = (line: string): void => void log.push(line);
  /** Times at which the schedules ran in a move. */
  const runs: Instant[] = [];
  let changes = 0;
  const timekeeper = createTimekeeper({
    clock,
    stores: createStoreEvents(stores, write),
    schedules: {
      start: () => undefined,
      runAll: async () => void runs.push(clock.now()),
      idle: async () => undefined,
      stop: () => undefined,
      ...schedules,
    },
    onChange: () => void (changes += 1),
    log: write,
  });
  started.push(timekeeper);
  return { clock, log, runs, timekeeper, changes: () => changes };
};

const advance = (milliseconds: number) => (now: Instant) => now + milliseconds;

/** Times relative to a start, to the second. */
const after = (start: Instant, moments: readonly Instant[]): number[] =>
  moments.map((moment) => Math.floor((moment - start) / SECOND) * SECOND);

describe("a move", () => {
  test("ends at its target, from where the clock runs on", async () => {
    const { clock, timekeeper } = startTimekeeper({});
    const target = clock.now() + 31 * DAY;
    await timekeeper.move(() => target);
    const moved = clock.now();
    expect(moved).toBeGreaterThanOrEqual(target);
    expect(moved).toBeLessThan(target + TOLERANCE);
    await new Promise((resolve) => void setTimeout(resolve, 5));
    expect(clock.now()).toBeGreaterThan(moved);
  });

  test("runs the schedules at its beginning, each day, and its target", async () => {
    const { clock, runs, timekeeper } = startTimekeeper({});
    const start = clock.now();
    await timekeeper.move(advance(2 * DAY + HOUR));
    expect(after(start, runs)).toEqual([0, DAY, 2 * DAY, 2 * DAY + HOUR]);
  });

  test("stops at each event, and later when the service tries again", async () => {
    const order: string[] = [];
    const start = Date.now();
    const { clock, runs, timekeeper, changes } = startTimekeeper(
      { store: aStore([start + 3 * HOUR], () => order.push(`event ${clock.now() >= start + 3 * HOUR}`)) },
      { runAll: async () => void (order.push("schedules"), runs.push(clock.now())) },
    );
    await timekeeper.move(() => start + 12 * HOUR);
    expect(after(start, runs)).toEqual([
      0,
      3 * HOUR,
      3 * HOUR + 10 * SECOND,
      3 * HOUR + 2 * MINUTE,
      3 * HOUR + 10 * MINUTE,
      4 * HOUR,
      9 * HOUR,
      12 * HOUR,
    ]);
    expect(order.slice(0, 3)).toEqual(["schedules", "event true", "schedules"]);
    expect(changes()).toBe(runs.length);
  });

  test("continues with what follows an event of the move before", async () => {
    const start = Date.now();
    const { runs, timekeeper } = startTimekeeper({ store: aStore([start + HOUR]) });
    await timekeeper.move(() => start + HOUR);
    runs.length = 0;
    await timekeeper.move(() => start + 3 * HOUR);
    expect(after(start, runs)).toEqual([
      HOUR,
      HOUR + 10 * SECOND,
      HOUR + 2 * MINUTE,
      HOUR + 10 * MINUTE,
      2 * HOUR,
      3 * HOUR,
    ]);
  });

  test("makes what is due at its beginning and at its target happen", async () => {
    const start = Date.now();
    const happened: Instant[] = [];
    const store = aStore([start - DAY, start + DAY], (event) => happened.push(event));
    const { timekeeper } = startTimekeeper({ store });
    await timekeeper.move(() => start + DAY);
    expect(happened).toEqual([start - DAY, start + DAY]);
  });

  test("property: every event happens once, in order, at its moment", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ store: fc.nat(1), at: fc.integer({ min: 1, max: 400 * HOUR }) }), {
          maxLength: 12,
        }),
        async (events) => {
          const start = Date.now();
          const happened: Instant[] = [];
          const late: number[] = [];
          const of = (index: number): TimedStore =>
            aStore(
              events.filter(({ store }) => store === index).map(({ at }) => start + at),
              (event) => {
                happened.push(event);
                late.push(clock.now() - event);
              },
            );
          const { clock, log, timekeeper } = startTimekeeper({ first: of(0), second: of(1) });
          await timekeeper.move(() => start + 400 * HOUR);
          expect(happened).toEqual(events.map(({ at }) => start + at).sort((a, b) => a - b));
          for (const delay of late) {
            expect(delay).toBeGreaterThanOrEqual(0);
            expect(delay).toBeLessThan(TOLERANCE);
          }
          expect(log).toEqual([]);
        },
      ),
      cases(40, 1_000),
    );
  });

  test("waits for the one before, and begins where that one ended", async () => {
    const { clock, timekeeper } = startTimekeeper({});
    const start = clock.now();
    const begun: Instant[] = [];
    const move = async () =>
      timekeeper.move((now) => {
        begun.push(now);
        return now + DAY;
      });
    await Promise.all([move(), move()]);
    expect(after(start, begun)).toEqual([0, DAY]);
    expect(clock.now()).toBeGreaterThanOrEqual(start + 2 * DAY);
  });

  test.each([
    ["backwards", (now: Instant) => now - 1],
    ["more than ten years ahead", (now: Instant) => now + 11 * 365 * DAY],
  ])("%s is refused, and the next one is made", async (_, target) => {
    const { clock, runs, timekeeper } = startTimekeeper({});
    const start = clock.now();
    await expect(timekeeper.move(target)).rejects.toThrow(ImpossibleMove);
    expect(clock.now()).toBeLessThan(start + TOLERANCE);
    expect(runs).toEqual([]);
    await timekeeper.move(advance(DAY));
    expect(clock.now()).toBeGreaterThanOrEqual(start + DAY);
  });

  test("ends at its next stop when the service stops", async () => {
    const start = Date.now();
    const { clock, timekeeper } = startTimekeeper({
      store: aStore([start + DAY], () => timekeeper.stop()),
    });
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

describe("every second", () => {
  test("the schedules start and due events happen, but not during a move", async () => {
    const start = Date.now();
    const happened: Instant[] = [];
    let starts = 0;
    let startsInMove = 0;
    let moving = false;
    const { changes, timekeeper } = startTimekeeper(
      { store: aStore([start + 1100], (event) => happened.push(event)) },
      {
        start: () => {
          starts += 1;
          if (moving) startsInMove += 1;
        },
        // The move has six stops, and takes longer than a second.
        runAll: async () => new Promise((resolve) => void setTimeout(resolve, 300)),
      },
    );
    timekeeper.start();
    await new Promise((resolve) => void setTimeout(resolve, 2500));
    expect(starts).toBeGreaterThan(0);
    expect(happened).toEqual([start + 1100]);
    expect(changes()).toBe(1);
    moving = true;
    await timekeeper.move(advance(HOUR));
    moving = false;
    expect(startsInMove).toBe(0);
    timekeeper.stop();
    starts = 0;
    await new Promise((resolve) => void setTimeout(resolve, 1200));
    expect(starts).toBe(0);
  });
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
