import { setTimeout as sleep } from "node:timers/promises";

const LONGEST_PAUSE_MILLISECONDS = 500;

/**
 * Waits before an attempt, longer the later it is. Full jitter: those who met once do not meet again at the same moment.
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const pause = (attempt: number): Promise<void> =>
  sleep(Math.random() * Math.min(LONGEST_PAUSE_MILLISECONDS, 10 * 2 ** attempt));
