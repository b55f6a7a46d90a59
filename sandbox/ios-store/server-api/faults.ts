import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { createRate } from "../../rate.ts";
import { Refused, type Answer } from "../../routes.ts";

/**
 * Codes of the App Store Server API's errors. The first three digits are the status.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/error-codes
 */
const CODES = {
  GeneralBadRequestError: 4_000_000,
  InvalidRequestRevisionError: 4_000_005,
  InvalidTransactionIdError: 4_000_006,
  StartDateTooFarInPastError: 4_000_012,
  StartDateAfterEndDateError: 4_000_013,
  InvalidPaginationTokenError: 4_000_014,
  TransactionIdNotFoundError: 4_040_010,
  AppTransactionDoesNotExistError: 4_040_019,
} as const;

const errorAnswer = (errorCode: number, errorMessage = "An error occurred."): Answer => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage },
});

export const serverApiRefusal = (name: keyof typeof CODES): Refused =>
  new Refused(errorAnswer(CODES[name], name));

export const UNAUTHENTICATED = { status: 401, body: "Unauthenticated\n" } as const;

export const serverApiFault = z.strictObject({
  status: z.int().min(400).max(599),
  /** Requests of a second that are answered: only the others fail, with `Retry-After` at the next second. */
  perSecond: z.int().positive().optional(),
});
export type ServerApiFault = z.output<typeof serverApiFault>;

const failed = ({ status }: ServerApiFault): Answer =>
  status === 401 ? UNAUTHENTICATED : errorAnswer(status === 404 ? 4_040_010 : status * 10_000);

export const createFaults = () => {
  const rate = createRate();
  let requests = 0;
  let fault: ServerApiFault | null = null;
  return {
    set: (next: ServerApiFault | null): void => {
      rate.limit(next?.perSecond ?? null);
      fault = next;
    },
    /** Answer to the next request; null: no fault. */
    next: (at: Instant): Answer | null => {
      requests += 1;
      const next = rate.countedUntil(at);
      if (fault === null || (fault.perSecond !== undefined && next === null)) return null;
      // Apple's unit is milliseconds since 1970.
      return { ...failed(fault), ...(next !== null && { headers: { "Retry-After": String(next) } }) };
    },
    requests: (): number => requests,
  };
};
