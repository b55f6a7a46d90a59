import { afterFailure, HEALTHY, type QueueHealth } from "../../lib/queues/health.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { pausesOf } from "./memory-queue.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const failed = (health: QueueHealth, because: string, moment: number, retryAt: number | null = null) =>
  afterFailure(health, { because, retryAt }, pausesOf, moment);

/** Pauses after so many failures in a row, each met when the pause before has ended. */
const pausesAfter = (because: string, failures: number): number[] => {
  let health: QueueHealth = HEALTHY;
  let moment = NOW;
  return Array.from({ length: failures }, () => {
    health = failed(health, because, moment);
    const pause = health.pausedUntil - moment;
    moment = health.pausedUntil;
    return pause;
  });
};

describe("a queue", () => {
  test("is tried less and less while its other end is down", () => {
    expect(pausesAfter("down", 7)).toEqual([0.5, 1, 2, 4, 5, 5, 5].map((pause) => pause * MINUTE));
  });
  test("that is refused is tried at least every hour", () => {
    expect(pausesAfter("refused", 5)).toEqual([5, 15, 60, 60, 60].map((pause) => pause * MINUTE));
  });
  test("counts failures in a row, and keeps the first one's time", () => {
    const first = failed(HEALTHY, "down", NOW);
    const second = failed(first, "down", NOW + MINUTE);
    expect(second).toMatchObject({ failures: 2, because: "down", failingSince: NOW });
  });
  test("goes on in its row where another reason has the same pauses", () => {
    const first = failed(HEALTHY, "down", NOW);
    const pauses = [MINUTE];
    const other = afterFailure(first, { because: "slow", retryAt: null }, () => pauses, NOW + MINUTE);
    expect(other).toMatchObject({ failures: 2, because: "slow", failingSince: NOW });
  });
  test("that fails for another reason begins a new row", () => {
    const first = failed(HEALTHY, "down", NOW);
    const other = failed(first, "refused", NOW + MINUTE);
    expect(other).toEqual({
      failures: 1,
      because: "refused",
      failingSince: NOW + MINUTE,
      pausedUntil: NOW + 6 * MINUTE,
    });
  });
});

describe("a time that the other end names", () => {
  test.each<[what: string, retryAt: number, pausedUntil: number]>([
    ["later than the pause counts", NOW + 10 * MINUTE, NOW + 10 * MINUTE],
    ["earlier than the pause does not shorten it", NOW + SECOND, NOW + 30 * SECOND],
    ["in the past does not shorten it", NOW - MINUTE, NOW + 30 * SECOND],
  ])("%s", (_, retryAt, pausedUntil) => {
    expect(failed(HEALTHY, "down", NOW, retryAt).pausedUntil).toBe(pausedUntil);
  });
});
