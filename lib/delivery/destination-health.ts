import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Down, QueueHealth } from "../queues/health.ts";

/** A destination that has answered 410: suspended until an operator resumes it. */
export const GONE: Down<string> = {
  because: "gone",
  retryAt: Date.UTC(9999, 11, 31),
  isForAll: true,
};

export const isSuspended = ({ because }: Pick<QueueHealth, "because">): boolean => because === GONE.because;

/**
 * Times from a failed attempt to the next one; the last is repeated.
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

/** Short: the cause may be one message that is never taken, while others wait. Each message has its own pauses. */
const PAUSES = RETRY_PAUSES.slice(0, 2);

/** The pauses are the same for every reason. */
export const pausesOf = (): readonly number[] => PAUSES;
