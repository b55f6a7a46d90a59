import { replaceDate } from "../local/clock/moved-clock.ts";
import { isoTime, parsePeriod, plusPeriod, type Instant } from "../lib/entitlements/time.ts";
import type { TimedStore } from "../sandbox/clock.ts";

/**
 * The time of the functions and of both stores. It stands still until the test moves it; `Date` follows it in the whole
 * process, timers do not. A second call at the same moment runs one millisecond later, because two statements of a
 * store at one moment have no order.
 */
export interface TestClock {
  now(): Instant;
  /**
   * Moves forwards. Everything that happens in the stores on the way (renewals, failed payments, ends) happens at its
   * moment, and is notified if the stores notify.
   *
   * @param moment an instant, or a time as ISO 8601
   * @throws if the moment has passed: what the functions and the stores know already would be in the future
   */
  moveTo(moment: Instant | string): Promise<void>;
  /** @param duration as ISO 8601, such as `P1M` or `PT90S` */
  advance(duration: string): Promise<void>;
}

export const instantOf = (moment: Instant | string): Instant => {
  const instant = typeof moment === "string" ? Date.parse(moment) : moment;
  if (!Number.isSafeInteger(instant)) throw new Error(`${moment} is not a time.`);
  return instant;
};

const nextEventOf = (stores: readonly TimedStore[]): Instant =>
  Math.min(...stores.map((store) => store.nextEventAt() ?? Infinity));

/** The kit's side of the clock. */
export const keepTime = (start: Instant) => {
  let current = start;
  let calledAt: Instant | null = null;
  let isMoving = false;
  /** Stores whose events happen as the clock moves. */
  const stores: TimedStore[] = [];

  const passEvents = async (moment: Instant): Promise<void> => {
    for (let next = nextEventOf(stores); next <= moment; next = nextEventOf(stores)) {
      current = Math.max(current, next);
      for (const store of stores) await store.runUntil(current);
      if (nextEventOf(stores) <= next) throw new Error("A store's event that has happened is still due.");
    }
    current = moment;
    for (const store of stores) await store.runUntil(current);
  };

  const moveTo = async (moment: Instant): Promise<void> => {
    if (moment < current)
      throw new Error(`The clock moves only forwards: it is ${isoTime(current)}, after ${isoTime(moment)}.`);
    isMoving = true;
    await passEvents(moment).finally(() => {
      isMoving = false;
    });
  };

  const clock: TestClock = {
    now: () => current,
    moveTo: async (moment) => moveTo(instantOf(moment)),
    advance: async (duration) => {
      const period = parsePeriod(duration);
      if (period === null) throw new Error(`${duration} is not a duration such as P1M.`);
      await moveTo(plusPeriod(current, period));
    },
  };
  return {
    clock,
    stores,
    /** Called before each invocation. */
    beginCall: (): void => {
      if (current === calledAt && !isMoving) current += 1;
      calledAt = current;
    },
    /** Gives `Date` back. */
    restore: replaceDate(clock.now),
  };
};
