import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import { errorBody, ServiceError } from "../../lib/contract/errors.ts";
import { json } from "./response.ts";

/** Default `Retry-After` of a 429 or 503, in seconds. */
const RETRY_AFTER_SECONDS = 5;

/** The error shown to a caller: `INTERNAL_ERROR` for anything outside the contract. */
export const shownOf = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : new ServiceError("INTERNAL_ERROR");

/** Error → response of the contract. */
export const presentError: MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult> = {
  onError: (handling) => {
    const shown = shownOf(handling.error);
    handling.response = json(
      shown.status,
      errorBody(shown),
      shown.status === 503 || shown.status === 429
        ? { "Retry-After": String(shown.retryAfterSeconds ?? RETRY_AFTER_SECONDS) }
        : {},
    );
  },
};
