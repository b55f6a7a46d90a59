import { MINUTE, SECOND } from "../../lib/duration.ts";
import { afterFailure, HEALTHY, type QueueHealth } from "../../lib/queues/health.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { pausesOf } from "./memory-queue.ts";

const failed = (health: QueueHealth, because: string, moment: number, retryAt: number | null = null) =>
  afterFailure(
    health,
    { because, retryAt },
    (reason) => pausesOf(reason === "slow" ? "down" : reason),
    moment,
  );

test.each<[what: string, because: string, after: Partial<QueueHealth>]>([
  ["counts in its row", "down", { failures: 2, failingSince: NOW, pausedUntil: NOW + 2 * MINUTE }],
  ["for another reason with the same pauses does too", "slow", { failures: 2, failingSince: NOW }],
  [
    "for a reason with other pauses begins a new row",
    "refused",
    { failures: 1, failingSince: NOW + MINUTE, pausedUntil: NOW + 6 * MINUTE },
  ],
])("a second failure %s", (_, because, after) => {
  const second = failed(failed(HEALTHY, "down", NOW), because, NOW + MINUTE);
  expect(second).toMatchObject({ because, ...after });
});

test.each<[what: string, retryAt: number, pausedUntil: number]>([
  ["later than the pause counts", NOW + 10 * MINUTE, NOW + 10 * MINUTE],
  ["earlier than the pause does not shorten it", NOW + SECOND, NOW + 30 * SECOND],
  ["in the past does not shorten it", NOW - MINUTE, NOW + 30 * SECOND],
])("a time that the other end names: %s", (_, retryAt, pausedUntil) => {
  expect(failed(HEALTHY, "down", NOW, retryAt).pausedUntil).toBe(pausedUntil);
});
