import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import { errorBody, ServiceError } from "../../lib/contract/errors.ts";
import { json } from "./response.ts";

/** Seconds after which a store that could not be reached may be asked again. */
const RETRY_AFTER_SECONDS = 5;

/** What a caller is shown of a failure: what is not of the contract is `INTERNAL_ERROR`. */
export const shownOf = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : new ServiceError("INTERNAL_ERROR");

/** Failure → response of the contract. */
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
