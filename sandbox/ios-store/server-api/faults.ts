import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createRate } from "../../rate.ts";
import type { Answer } from "../../routes.ts";
import { errorAnswer, UNAUTHENTICATED } from "./errors.ts";

/** Failure of the Server API's requests. */
export const serverApiFault = z.strictObject({
  status: z.int().min(400).max(599),
  /** Requests that fail; unset: all, until this is set again. */
  times: z.int().positive().optional(),
  /** Requests of a second that are answered: only the others fail, with `Retry-After` at the next second. */
  perSecond: z.int().positive().optional(),
});
export type ServerApiFault = z.output<typeof serverApiFault>;

const failed = ({ status }: ServerApiFault): Answer =>
  status === 401 ? UNAUTHENTICATED : errorAnswer(status === 404 ? 4_040_010 : status * 10_000);

/** Counts the Server API's requests, and makes them fail. */
export const createFaults = () => {
  const rate = createRate();
  let requests = 0;
  let fault: ServerApiFault | null = null;
  let remaining = 0;
  return {
    /** Makes requests fail; null: they no longer do. */
    set: (next: ServerApiFault | null): void => {
      rate.limit(next?.perSecond ?? null);
      fault = next;
      remaining = next?.times ?? Infinity;
    },
    /** Answer to the next request; null: no fault. */
    next: (at: Instant): Answer | null => {
      requests += 1;
      const next = rate.countedUntil(at);
      if (fault === null || remaining === 0 || (fault.perSecond !== undefined && next === null)) return null;
      remaining -= 1;
      // Apple's unit is milliseconds since 1970.
      return { ...failed(fault), ...(next !== null && { headers: { "Retry-After": String(next) } }) };
    },
    /** Requests so far, including those that failed. */
    requests: (): number => requests,
  };
};
