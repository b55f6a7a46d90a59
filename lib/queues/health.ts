/** Exclusive right to process a queue, until it ends. */
export interface Lease {
  readonly worker: string;
  readonly until: number;
}

/** State of a queue as a whole: its other end answers, or is called less and less. */
export interface QueueHealth<Reason extends string = string> {
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

export interface Failing<Reason extends string = string> {
  readonly because: Reason;
  readonly failingSince: number;
  readonly until: number;
}

/** Null: the other end answers. */
export const failingOf = <Reason extends string>({
  because,
  failingSince,
  pausedUntil: until,
}: QueueHealth<Reason>): Failing<Reason> | null =>
  because === null || failingSince === null ? null : { because, failingSince, until };

/** A sign that the other end of a queue is down. */
export interface Down<Reason extends string> {
  readonly because: Reason;
  /** Time before which nothing is tried; null: none is named. */
  readonly retryAt: number | null;
  /** Whether it pauses the queue although other items of the batch show the other end up. */
  readonly isForAll: boolean;
}

/** Pauses after the first failure in a row, the second, and so on; the last repeats. */
export type Pauses<Reason extends string> = (because: Reason) => readonly number[];

/** The queue's health after a failure. Failures for reasons that have the same pauses are in one row. */
export const afterFailure = <Reason extends string>(
  health: QueueHealth<Reason>,
  { because, retryAt }: Pick<Down<Reason>, "because" | "retryAt">,
  pausesOf: Pauses<Reason>,
  moment: number,
): QueueHealth<Reason> => {
  const pauses = pausesOf(because);
  const goesOn = health.because !== null && pausesOf(health.because) === pauses;
  const failures = goesOn ? health.failures + 1 : 1;
  const pause = pauses[Math.min(failures, pauses.length) - 1] ?? 0;
  return {
    failures,
    because,
    failingSince: goesOn ? (health.failingSince ?? moment) : moment,
    pausedUntil: Math.max(moment + pause, retryAt ?? 0),
  };
};

/** One item that shows the other end up is enough, unless a failure is for all. The reason with the longest pause counts. */
export const afterBatch = <Reason extends string>(
  health: QueueHealth<Reason>,
  ends: readonly ("up" | Down<Reason> | null)[],
  pausesOf: Pauses<Reason>,
  moment: number,
): QueueHealth<Reason> => {
  const failures = ends.filter((end) => end !== "up" && end !== null);
  const forAll = failures.filter(({ isForAll }) => isForAll);
  if (forAll.length === 0 && ends.includes("up")) return HEALTHY;
  const pauseOf = ({ because }: Down<Reason>): number => pausesOf(because)[0] ?? 0;
  const counting = (forAll.length > 0 ? forAll : failures).toSorted((a, b) => pauseOf(b) - pauseOf(a));
  const [first] = counting;
  if (first === undefined) return health;
  const named = counting.flatMap(({ retryAt }) => retryAt ?? []);
  const retryAt = named.length === 0 ? null : Math.max(...named);
  return afterFailure(health, { ...first, retryAt }, pausesOf, moment);
};
