import { afterFailure, HEALTHY, type PauseReason, type QueueHealth } from "../../lib/queues/health.ts";
import { NOW } from "../../testing/support/purchases.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Pauses after so many failures in a row, each met when the pause before has ended. */
const pausesAfter = (because: PauseReason, failures: number): number[] => {
  let health: QueueHealth = HEALTHY;
  let moment = NOW;
  return Array.from({ length: failures }, () => {
    health = afterFailure(health, because, moment);
    const pause = health.pausedUntil - moment;
    moment = health.pausedUntil;
    return pause;
  });
};

describe("a queue", () => {
  test("is asked less and less while its store is unavailable", () => {
    expect(pausesAfter("unavailable", 7)).toEqual([0.5, 1, 2, 4, 5, 5, 5].map((pause) => pause * MINUTE));
  });
  test("whose credential is rejected is asked at least every hour", () => {
    expect(pausesAfter("credential-rejected", 5)).toEqual([5, 15, 60, 60, 60].map((pause) => pause * MINUTE));
  });
  test("counts failures in a row, and keeps the first one's time", () => {
    const first = afterFailure(HEALTHY, "unavailable", NOW);
    const second = afterFailure(first, "unavailable", NOW + MINUTE);
    expect(second).toMatchObject({ failures: 2, because: "unavailable", failingSince: NOW });
  });
  test("that fails for another reason begins a new row", () => {
    const first = afterFailure(HEALTHY, "unavailable", NOW);
    const other = afterFailure(first, "credential-rejected", NOW + MINUTE);
    expect(other).toEqual({
      failures: 1,
      because: "credential-rejected",
      failingSince: NOW + MINUTE,
      pausedUntil: NOW + 6 * MINUTE,
    });
  });
});

describe("a time that the store names", () => {
  test.each<[what: string, retryAt: number, pausedUntil: number]>([
    ["later than the pause counts", NOW + 10 * MINUTE, NOW + 10 * MINUTE],
    ["earlier than the pause does not shorten it", NOW + SECOND, NOW + 30 * SECOND],
    ["in the past does not shorten it", NOW - MINUTE, NOW + 30 * SECOND],
    ["of an hour counts", NOW + 60 * MINUTE, NOW + 60 * MINUTE],
    ["later than an hour counts as an hour", NOW + 60 * MINUTE + 1, NOW + 60 * MINUTE],
  ])("%s", (_, retryAt, pausedUntil) => {
    expect(afterFailure(HEALTHY, "unavailable", NOW, retryAt).pausedUntil).toBe(pausedUntil);
  });
});
