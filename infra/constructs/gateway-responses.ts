import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { ERRORS, type ErrorBody, type ErrorCode } from "../../lib/contract/errors.ts";

interface GatewayError {
  readonly code: ErrorCode;
  /** Unset: the code's own; null: API Gateway's default for the type. */
  readonly status?: number | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Unset: the code's own. It may name `$context` variables of plain words. */
  readonly message?: string;
}

/** The throttle's bucket fills by the rate every second; five let a crowd spread. */
const RETRY_SOON = { "Retry-After": "5" };

/**
 * Errors that API Gateway answers itself, by response type. `DEFAULT_4XX` and `DEFAULT_5XX` catch the types not listed; a
 * status of theirs would replace those of all that they catch. The signature types occur on unknown routes alone, where
 * API Gateway takes the Authorization header for a signature.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const GATEWAY_RESPONSES: Readonly<Record<string, GatewayError>> = {
  UNAUTHORIZED: { code: "INVALID_CREDENTIAL", headers: { "WWW-Authenticate": "Bearer" } },
  ACCESS_DENIED: {
    code: "INSUFFICIENT_SCOPE",
    message:
      "The API key does not have the scope that this endpoint requires. The key lacks: $context.authorizer.missingScopes.",
  },
  MISSING_AUTHENTICATION_TOKEN: { code: "ROUTE_NOT_FOUND" },
  RESOURCE_NOT_FOUND: { code: "ROUTE_NOT_FOUND" },
  INVALID_SIGNATURE: { code: "ROUTE_NOT_FOUND" },
  EXPIRED_TOKEN: { code: "ROUTE_NOT_FOUND" },
  INVALID_API_KEY: { code: "ROUTE_NOT_FOUND" },
  BAD_REQUEST_BODY: { code: "INVALID_REQUEST" },
  BAD_REQUEST_PARAMETERS: { code: "INVALID_REQUEST" },
  REQUEST_TOO_LARGE: { code: "REQUEST_TOO_LARGE" },
  UNSUPPORTED_MEDIA_TYPE: { code: "UNSUPPORTED_MEDIA_TYPE" },
  THROTTLED: { code: "TOO_MANY_REQUESTS", headers: RETRY_SOON },
  QUOTA_EXCEEDED: { code: "TOO_MANY_REQUESTS", headers: RETRY_SOON },
  AUTHORIZER_FAILURE: { code: "INTERNAL_ERROR" },
  AUTHORIZER_CONFIGURATION_ERROR: { code: "INTERNAL_ERROR" },
  API_CONFIGURATION_ERROR: { code: "INTERNAL_ERROR" },
  INTEGRATION_FAILURE: { code: "INTERNAL_ERROR" },
  INTEGRATION_TIMEOUT: { code: "INTERNAL_ERROR", status: 504 },
  DEFAULT_4XX: { code: "INVALID_REQUEST", status: null },
  DEFAULT_5XX: { code: "INTERNAL_ERROR", status: null },
};

/** Contract body of an error that no function answers. */
export const contractBody = (code: ErrorCode, message: string = ERRORS[code].message): string =>
  JSON.stringify({ error: code, message } satisfies ErrorBody);

/** Gives every error that API Gateway answers itself the contract's body. */
export const addGatewayResponses = (api: RestApi): void => {
  for (const [type, { code, status = ERRORS[code].status, headers, message }] of Object.entries(
    GATEWAY_RESPONSES,
  ))
    api.addGatewayResponse(type, {
      type: ResponseType.of(type),
      ...(status !== null && { statusCode: String(status) }),
      ...(headers && {
        responseHeaders: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, `'${value}'`]),
        ),
      }),
      templates: { "application/json": contractBody(code, message) },
    });
};
