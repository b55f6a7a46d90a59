import * as z from "zod";
import type { Reply } from "../../routes.ts";

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

/** An error answer. */
export class ServerApiError extends Error {
  readonly errorCode: number;

  constructor(name: keyof typeof CODES) {
    super(name);
    this.errorCode = CODES[name];
  }
}

export const errorAnswer = (errorCode: number, errorMessage = "An error occurred.") => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage },
});

/** Answer to a refused token. */
export const UNAUTHENTICATED = { status: 401, body: "Unauthenticated\n" } as const;

/** Failure of the Server API's requests. */
export const serverApiFault = z.strictObject({
  status: z.int().min(400).max(599),
  /** Apple's code; unset: the status's own, if it has one. */
  errorCode: z.int().optional(),
  /** The `Retry-After` header, in milliseconds since 1970; unset: none. */
  retryAfter: z.int().min(0).optional(),
  /** Requests that fail; unset: all, until told otherwise. */
  times: z.int().positive().optional(),
});
export type ServerApiFault = z.output<typeof serverApiFault>;

/** Codes of statuses that a fault names without a code. */
const CODES_OF_STATUSES: Readonly<Record<number, number>> = {
  400: 4_000_000,
  404: 4_040_010,
  429: 4_290_000,
  500: 5_000_000,
};

export const failed = ({
  status,
  errorCode = CODES_OF_STATUSES[status],
  retryAfter,
}: ServerApiFault): Reply => {
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  if (errorCode !== undefined) return { status, body: errorAnswer(errorCode).body, headers };
  return { status, body: status === 401 ? UNAUTHENTICATED.body : "", headers };
};
