import { setTimeout as sleep } from "node:timers/promises";
import { SECOND } from "./duration.ts";

const LONGEST_PAUSE_MILLISECONDS = 500;

export type Pause = (attempt: number) => Promise<void>;

/**
 * Longer with each attempt. Full jitter keeps colliding writers from meeting again.
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const pause: Pause = (attempt) =>
  sleep(Math.random() * Math.min(LONGEST_PAUSE_MILLISECONDS, 10 * 2 ** attempt));

/** Outcome of the first attempt without a conflict, with a pause before each further one; `conflict`: all of them had one. */
export const tryAgain = async <Outcome>(
  attempts: number,
  wait: Pause,
  act: (attempt: number) => Promise<Outcome | "conflict">,
): Promise<Outcome | "conflict"> => {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (attempt > 1) await wait(attempt);
    const outcome = await act(attempt);
    if (outcome !== "conflict") return outcome;
  }
  return "conflict";
};

/** As {@link tryAgain}. Throws `failure` after the last attempt. */
export const again = async <Outcome>(
  attempts: number,
  wait: Pause,
  act: (attempt: number) => Promise<Outcome | "conflict">,
  failure = "Too many concurrent changes. Run the command again.",
): Promise<Exclude<Outcome, "conflict">> => {
  const outcome = await tryAgain<Outcome>(attempts, wait, act);
  if (outcome === "conflict") throw new Error(failure);
  return outcome as Exclude<Outcome, "conflict">;
};

/** Settles with the promise, or rejects as soon as the signal aborts. */
export const within = async <T>(signal: AbortSignal, promise: Promise<T>): Promise<T> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
};

/**
 * Time that a `Retry-After` header names, at least a second and at most `longest` milliseconds ahead: seconds to wait, or
 * an HTTP date (RFC 9110, 10.2.3). Apple writes milliseconds since 1970. Null: none.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits
 */
export const retryTime = (header: string | null | undefined, now: number, longest: number): number | null => {
  if (header == null) return null;
  const isDate = /^[A-Z][a-z]+, /.test(header);
  const isTime = /^\d{12,}$/.test(header);
  const seconds = /^\d+$/.test(header) ? Number(header) : NaN;
  const time = isDate ? Date.parse(header) : isTime ? Number(header) : now + seconds * SECOND;
  return Number.isNaN(time) ? null : Math.min(Math.max(time, now + SECOND), now + longest);
};
