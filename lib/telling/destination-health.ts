import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { QueueHealth } from "../queues/health.ts";

/**
 * State of a destination as a whole. A failure is a batch of which nothing was taken; its reason is a word that an operator
 * looks up.
 */
export type DestinationHealth = QueueHealth<string>;

/** Reason for a destination that has answered 410. */
const GONE = "gone";

/** Suspended until an operator resumes it. */
const FOR_EVER = Date.UTC(9999, 11, 31);

export const isSuspended = ({ because }: DestinationHealth): boolean => because === GONE;

export const suspended = (health: DestinationHealth, moment: Instant): DestinationHealth => ({
  failures: health.failures + 1,
  failingSince: health.failingSince ?? moment,
  because: GONE,
  pausedUntil: FOR_EVER,
});

/**
 * Times from a failed attempt to the next one; the last is repeated. They follow the specification's example.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
const RETRY_PAUSES: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  DAY,
];

/** Next attempt after the given number of failed ones, no earlier than the destination asks for. */
export const nextTry = (failures: number, moment: Instant, retryAt: Instant | null): Instant => {
  const step = RETRY_PAUSES[Math.min(failures, RETRY_PAUSES.length) - 1] ?? DAY;
  return Math.max(moment + step, Math.min(retryAt ?? 0, moment + DAY));
};

/**
 * Failures after which a destination's pauses stop growing: the cause may be one message that is never taken, while
 * others wait. Each message has growing pauses of its own.
 */
const GROWING_PAUSES = 2;

/** Health after a batch without any delivery. */
export const afterRefusal = (
  health: DestinationHealth,
  because: string,
  moment: Instant,
  retryAt: Instant | null,
): DestinationHealth => {
  const failures = health.failures + 1;
  return {
    failures,
    failingSince: health.failingSince ?? moment,
    because,
    pausedUntil: nextTry(Math.min(failures, GROWING_PAUSES), moment, retryAt),
  };
};
