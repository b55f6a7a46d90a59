import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createRate } from "../../rate.ts";
import type { Reply } from "../../routes.ts";
import { errorAnswer } from "./errors.ts";

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

/** Answer to a refused token. */
export const UNAUTHENTICATED = { status: 401, body: "Unauthenticated\n" } as const;

/** Codes of statuses that a fault names without a code. */
const CODES: Readonly<Record<number, number>> = {
  400: 4_000_000,
  404: 4_040_010,
  429: 4_290_000,
  500: 5_000_000,
};

const failed = ({ status = 500, errorCode = CODES[status], retryAfter, hangs }: ServerApiFault): Reply => {
  if (hangs) return "hang";
  const { body } = errorCode === undefined ? { body: "" } : errorAnswer(errorCode);
  return {
    status,
    body: status === 401 && errorCode === undefined ? UNAUTHENTICATED.body : body,
    headers: retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) },
  };
};

export type ServerApiFaults = ReturnType<typeof createServerApiFaults>;

export const createServerApiFaults = () => {
  let fault: ServerApiFault | null = null;
  let left = 0;
  const rate = createRate();
  return {
    /** @param next null: requests no longer fail */
    set: (next: ServerApiFault | null): void => {
      rate.limit(next?.perSecond ?? null);
      fault = next;
      left = next?.times ?? Infinity;
    },
    /** Reply to the next request; null: no fault. */
    next: (at: Instant): Reply | null => {
      const retryAfter = rate.countedUntil(at);
      if (fault === null || left === 0) return null;
      if (fault.perSecond !== undefined && retryAfter === null) return null;
      left -= 1;
      return failed(retryAfter === null ? fault : { retryAfter, ...fault });
    },
  };
};
