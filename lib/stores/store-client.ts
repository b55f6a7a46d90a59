import { setTimeout as sleep } from "node:timers/promises";
import { SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ReadSecret } from "./credentials.ts";

/** Time limits of a store's API, in milliseconds. */
export interface StoreTiming {
  /** One HTTP request, up to the end of its body. */
  readonly request: number;
  /** Pause before the one retry. */
  readonly pause: number;
  /** One question or acknowledgement as a whole: secret, token, requests, pause and retry. */
  readonly total: number;
}

/** A lookup and an acknowledgement in sequence stay within API Gateway's timeout of 29 seconds. */
export const STORE_TIMING: StoreTiming = { request: 4_000, pause: 250, total: 10_000 };

export interface StoreClientOptions {
  /** Root URL of the API, with or without a path; unset: the store's. */
  readonly rootUrl?: string | undefined;
  readonly readSecret: ReadSecret;
  readonly now: () => Instant;
  readonly timing?: StoreTiming;
  readonly fetch?: typeof fetch;
}

/** Makes an attempt, and a second one after a pause if the first says `again` and the deadline allows it. */
export const withOneRetry = async <Result>(
  attempt: () => Promise<{ readonly result: Result; readonly again: boolean }>,
  pause: number,
  deadline: AbortSignal,
): Promise<Result> => {
  const first = await attempt();
  if (!first.again) return first.result;
  try {
    await sleep(pause, undefined, { signal: deadline });
  } catch {
    return first.result;
  }
  return (await attempt()).result;
};

/** Time that a `Retry-After` header names: seconds to wait, or an HTTP date (RFC 9110, 10.2.3). Null: none. */
export const retryTime = (header: string | null, now: Instant): Instant | null => {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return now + Number(header) * SECOND;
  const time = /^[A-Z][a-z]+, /.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(time) ? null : time;
};
