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

export const errorAnswer = (errorCode: number, errorMessage = "An error occurred."): Answer => ({
  status: Math.floor(errorCode / 10_000),
  body: { errorCode, errorMessage },
});

export const serverApiRefusal = (name: keyof typeof CODES): Refused =>
  new Refused(errorAnswer(CODES[name], name));

export const UNAUTHENTICATED = { status: 401, body: "Unauthenticated\n" } as const;
