import { setTimeout as sleep } from "node:timers/promises";

const LONGEST_PAUSE_MILLISECONDS = 500;

/**
 * Waits before a retry, longer with each attempt. Full jitter keeps colliding writers from meeting again.
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const pause = (attempt: number): Promise<void> =>
  sleep(Math.random() * Math.min(LONGEST_PAUSE_MILLISECONDS, 10 * 2 ** attempt));
