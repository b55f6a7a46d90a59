/**
 * Errors of the App Store Server API: code and message. The code's first three digits are the status.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/error-codes
 */
const ERRORS = {
  GeneralBadRequestError: [4_000_000, "Bad request."],
  InvalidRequestRevisionError: [4_000_005, "Invalid request revision."],
  InvalidTransactionIdError: [4_000_006, "Invalid transaction id."],
  StartDateTooFarInPastError: [4_000_012, "Request's start date is earlier than the allowed start date."],
  StartDateAfterEndDateError: [4_000_013, "Request's end date precedes its start date."],
  InvalidPaginationTokenError: [4_000_014, "Request contains an invalid pagination token."],
  InvalidStartDateError: [4_000_015, "Request contains an invalid start date."],
  InvalidEndDateError: [4_000_016, "Request contains an invalid end date."],
  PaginationTokenExpiredError: [4_000_017, "Request's pagination token has expired."],
  InvalidNotificationTypeError: [4_000_018, "Request contains an invalid notification type or subtype."],
  MultipleFiltersSuppliedError: [4_000_019, "Request contains several filters of which it may have one."],
  InvalidTestNotificationTokenError: [4_000_020, "Invalid test notification token."],
  InvalidSortError: [4_000_021, "Invalid sort."],
  InvalidProductTypeError: [4_000_022, "Invalid product type."],
  InvalidProductIdError: [4_000_023, "Invalid product id."],
  InvalidSubscriptionGroupIdentifierError: [4_000_024, "Invalid subscription group identifier."],
  InvalidInAppOwnershipTypeError: [4_000_026, "Invalid in-app ownership type."],
  InvalidRevokedError: [4_000_030, "Invalid revoked."],
  InvalidStatusError: [4_000_031, "Invalid status."],
  AccountNotFoundError: [4_040_001, "Account not found."],
  AccountNotFoundRetryableError: [4_040_002, "Account not found. Please try again."],
  AppNotFoundError: [4_040_003, "App not found."],
  AppNotFoundRetryableError: [4_040_004, "App not found. Please try again."],
  OriginalTransactionIdNotFoundError: [4_040_005, "Original transaction id not found."],
  OriginalTransactionIdNotFoundRetryableError: [
    4_040_006,
    "Original transaction id not found. Please try again.",
  ],
  ServerNotificationUrlNotFoundError: [4_040_007, "No notification URL was found for the app."],
  TestNotificationNotFoundError: [4_040_008, "No test notification was found for the token."],
  TransactionIdNotFoundError: [4_040_010, "Transaction id not found."],
  AppTransactionDoesNotExistError: [4_040_019, "No app transaction exists for the customer."],
  RateLimitExceededError: [4_290_000, "Rate limit exceeded."],
  GeneralInternalError: [5_000_000, "An unknown error occurred."],
  GeneralInternalRetryableError: [5_000_001, "An unknown error occurred. Please try again."],
} as const satisfies Record<string, readonly [code: number, message: string]>;
export type ServerApiErrorName = keyof typeof ERRORS;

export interface ServerApiErrorBody {
  readonly errorCode: number;
  readonly errorMessage: string;
}

/** An error answer. */
export class ServerApiError extends Error {
  readonly status: number;
  readonly body: ServerApiErrorBody;

  constructor(name: ServerApiErrorName) {
    const [errorCode, errorMessage] = ERRORS[name];
    super(name);
    this.status = Math.floor(errorCode / 10_000);
    this.body = { errorCode, errorMessage };
  }
}

/** The body of an error by its code. */
export const bodyOf = (errorCode: number): ServerApiErrorBody => ({
  errorCode,
  errorMessage: Object.values(ERRORS).find(([code]) => code === errorCode)?.[1] ?? "An error occurred.",
});
