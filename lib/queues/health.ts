import { MINUTE } from "../duration.ts";

/** Exclusive right to process a queue, until it ends. */
export interface Lease {
  /** Distinguishes the worker from others. */
  readonly worker: string;
  readonly until: number;
}

/** Why a queue is paused: its other end does not answer, or refuses the credential. */
export const PAUSE_REASONS = ["unavailable", "credential-rejected"] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** State of a queue as a whole: its other end answers, or is called less and less. */
export interface QueueHealth<Reason extends string = PauseReason> {
  /** Failures in a row; 0: it answers. */
  readonly failures: number;
  /** Reason of the last failure; null: it answers. */
  readonly because: Reason | null;
  /** First of the failures in a row; null: none. */
  readonly failingSince: number | null;
  /** Nothing is tried before this time; 0: at once. */
  readonly pausedUntil: number;
}

export const HEALTHY: QueueHealth<never> = { failures: 0, because: null, failingSince: null, pausedUntil: 0 };

/**
 * Pauses after the first failure, the second, and so on; the last repeats. A store that is down is retried often enough
 * for a renewal leeway of 15 minutes; a rejected key needs a person.
 */
const PAUSES: Readonly<Record<PauseReason, readonly number[]>> = {
  unavailable: [0.5, 1, 2, 4, 5].map((minutes) => minutes * MINUTE),
  "credential-rejected": [5, 15, 60].map((minutes) => minutes * MINUTE),
};

/** Longest pause that a store can ask for. */
const LONGEST_PAUSE = 60 * MINUTE;

/** The queue's health after a failure that concerns the whole queue: pauses of 30 s to 5 min, or to an hour. */
export const afterFailure = (
  health: QueueHealth,
  because: PauseReason,
  moment: number,
  retryAt: number | null = null,
): QueueHealth => {
  const failures = health.because === because ? health.failures + 1 : 1;
  const pauses = PAUSES[because];
  const pause = pauses[Math.min(failures, pauses.length) - 1] ?? 0;
  const asked = Math.min(retryAt ?? 0, moment + LONGEST_PAUSE);
  return {
    failures,
    because,
    failingSince: health.because === because ? (health.failingSince ?? moment) : moment,
    pausedUntil: Math.max(moment + pause, asked),
  };
};
