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
  InvalidStartDateError: 4_000_015,
  InvalidEndDateError: 4_000_016,
  PaginationTokenExpiredError: 4_000_017,
  InvalidSortError: 4_000_021,
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
