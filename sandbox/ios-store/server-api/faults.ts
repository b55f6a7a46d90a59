import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createRate } from "../../rate.ts";
import { bodyOf } from "./errors.ts";

/** Failure of the Server API's requests. */
export const serverApiFault = z
  .strictObject({
    status: z.int().min(400).max(599).optional(),
    /** Apple's code; unset: the status's own, if it has one. */
    errorCode: z.int().optional(),
    /** The `Retry-After` header, in milliseconds since 1970; unset: the next second of a `perSecond`, or none. */
    retryAfter: z.int().min(0).optional(),
    /** Requests that fail; unset: all, until told otherwise. */
    times: z.int().positive().optional(),
    /** Requests of a second that are answered: only the others fail. */
    perSecond: z.int().positive().optional(),
    /** No answer comes. */
    hangs: z.literal(true).optional(),
  })
  .refine(({ status, hangs }) => status !== undefined || hangs, "must have a status, or hang");
export type ServerApiFault = z.input<typeof serverApiFault>;

/** A response, or none at all. */
export type ServerApiAnswer =
  | "hangs"
  | { readonly status: number; readonly body: unknown; readonly headers: Readonly<Record<string, string>> };

export interface ServerApiFaults {
  /** @param fault null: requests no longer fail */
  set(fault: ServerApiFault | null): void;
  /** Answer to the next request; null: no fault. */
  next(at: Instant): ServerApiAnswer | null;
}

/** Body of a refused token. */
export const UNAUTHENTICATED = "Unauthenticated\n";

/** Codes of statuses that a fault names without a code. */
const CODES: Readonly<Record<number, number>> = {
  400: 4_000_000,
  404: 4_040_010,
  429: 4_290_000,
  500: 5_000_000,
};

const failed = ({
  status = 500,
  errorCode = CODES[status],
  retryAfter,
  hangs,
}: ServerApiFault): ServerApiAnswer =>
  hangs
    ? "hangs"
    : {
        status,
        body: errorCode === undefined ? (status === 401 ? UNAUTHENTICATED : "") : bodyOf(errorCode),
        headers: retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) },
      };

export const createServerApiFaults = (): ServerApiFaults => {
  let fault: ServerApiFault | null = null;
  let left = 0;
  const rate = createRate();
  return {
    set: (next) => {
      rate.limit(next?.perSecond ?? null);
      fault = next;
      left = next?.times ?? Infinity;
    },
    next: (at) => {
      const retryAfter = rate.countedUntil(at);
      if (fault === null || left === 0) return null;
      if (fault.perSecond !== undefined && retryAfter === null) return null;
      left -= 1;
      return failed(retryAfter === null ? fault : { retryAfter, ...fault });
    },
  };
};
