/**
 * Every error the service answers with: its code (stable), HTTP status, and a message for people (not stable). The
 * gateway's own errors are included, so that they have the same body.
 */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, message: "The request does not match the API schema." },
  INVALID_APP_TRANSACTION: { status: 400, message: "The signed app transaction could not be verified." },
  INVALID_TRANSACTION: { status: 400, message: "A signed transaction could not be verified." },
  INVALID_RENEWAL_INFO: { status: 400, message: "A signed renewal info could not be verified." },
  INVALID_NOTIFICATION: { status: 400, message: "The store's notification could not be verified." },
  INVALID_PURCHASE: {
    status: 400,
    message: "The store does not know this purchase, or it is of another kind, product or package.",
  },
  PURCHASE_NO_LONGER_AVAILABLE: {
    status: 400,
    message: "The purchase expired too long ago: the store dropped it, and it was never stored here.",
  },
  CURSOR_EXPIRED: {
    status: 400,
    message:
      "Changes after this cursor are no longer kept. Start without a cursor, and read each account once.",
  },
  ENVIRONMENT_NOT_ACCEPTED: {
    status: 400,
    message: "The application does not accept purchases of this environment.",
  },
  INVALID_CREDENTIAL: {
    status: 401,
    message: "A valid credential is required, in the header Authorization: Bearer <credential>.",
  },
  INSUFFICIENT_SCOPE: { status: 403, message: "The API key does not have the scope this endpoint requires." },
  APPLICATION_NOT_FOUND: { status: 404, message: "The application does not exist." },
  STORE_CONFIGURATION_NOT_FOUND: {
    status: 404,
    message: "The application has no configuration for this store, bundle or package.",
  },
  CUSTOMER_NOT_FOUND: { status: 404, message: "The customer has been erased." },
  PAYWALL_NOT_FOUND: { status: 404, message: "The application's catalog has no product in this store." },
  ROUTE_NOT_FOUND: { status: 404, message: "There is no such route." },
  CUSTOMER_ALREADY_LINKED: { status: 409, message: "The customer is linked to another account." },
  IDENTITY_CONFLICT: {
    status: 409,
    message: "The verified identities belong to customers of different accounts.",
  },
  REQUEST_TOO_LARGE: { status: 413, message: "The request body is too large." },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: "The request's media type is not supported." },
  TOO_MANY_REQUESTS: { status: 429, message: "Too many requests; try again later." },
  INTERNAL_ERROR: { status: 500, message: "The service failed; the request can be sent again." },
  STORE_UNAVAILABLE: { status: 503, message: "The store could not be reached; try again." },
  STORE_REJECTED_CREDENTIAL: {
    status: 503,
    message: "The store refuses the credential that the application's operator has configured.",
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A problem in a request. `path` names the field (`signedTransactions.3`); empty: the whole body. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly issues?: readonly Issue[];
}

/**
 * A refusal with a code of {@link ERRORS}. The message may reach the caller: it must never hold a token, key or JWS.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly issues: readonly Issue[] | undefined;
  /** Seconds to wait before the same request may succeed; undefined: unknown. */
  readonly retryAfterSeconds: number | undefined;
  /** Why, for the operator's log; never shown to the caller, and never a token, a key, a JWS or a person's identifier. */
  readonly because: string | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      issues?: readonly Issue[];
      retryAfterSeconds?: number;
      because?: string;
      cause?: unknown;
    } = {},
  ) {
    super(options.message ?? ERRORS[code].message, { cause: options.cause });
    this.name = "ServiceError";
    this.code = code;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.because = options.because;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

export const errorBody = (error: ServiceError): ErrorBody => ({
  error: error.code,
  message: error.message,
  ...(error.issues && { issues: error.issues }),
});
