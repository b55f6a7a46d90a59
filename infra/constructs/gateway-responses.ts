import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { ERRORS, type ErrorBody, type ErrorCode } from "../../lib/contract/errors.ts";

interface GatewayError {
  readonly code: ErrorCode;
  /** Unset: API Gateway's default status for the type. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Unset: the code's own message. May name `$context` variables whose values are plain words. */
  readonly message?: string;
}

const contractStatus = (code: ErrorCode): GatewayError => ({ code, status: ERRORS[code].status });

/** The throttle's bucket fills by the rate every second; five let a crowd spread. */
const RETRY_SOON = { "Retry-After": "5" };

/**
 * Errors that API Gateway answers itself, by response type. `DEFAULT_4XX` and `DEFAULT_5XX` catch the types not listed;
 * they have no status, because it would replace the statuses of all types they catch.
 *
 * No method uses IAM or API Gateway's own keys. The signature types therefore occur only on unknown routes, when API
 * Gateway takes the Authorization header for a signature.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const GATEWAY_RESPONSES = {
  UNAUTHORIZED: {
    ...contractStatus("INVALID_CREDENTIAL"),
    headers: { "WWW-Authenticate": "Bearer" },
  },
  ACCESS_DENIED: {
    ...contractStatus("INSUFFICIENT_SCOPE"),
    message:
      "The API key does not have the scope that this endpoint requires. The key lacks: $context.authorizer.missingScopes.",
  },
  MISSING_AUTHENTICATION_TOKEN: contractStatus("ROUTE_NOT_FOUND"),
  RESOURCE_NOT_FOUND: contractStatus("ROUTE_NOT_FOUND"),
  INVALID_SIGNATURE: contractStatus("ROUTE_NOT_FOUND"),
  EXPIRED_TOKEN: contractStatus("ROUTE_NOT_FOUND"),
  INVALID_API_KEY: contractStatus("ROUTE_NOT_FOUND"),
  BAD_REQUEST_BODY: contractStatus("INVALID_REQUEST"),
  BAD_REQUEST_PARAMETERS: contractStatus("INVALID_REQUEST"),
  REQUEST_TOO_LARGE: contractStatus("REQUEST_TOO_LARGE"),
  UNSUPPORTED_MEDIA_TYPE: contractStatus("UNSUPPORTED_MEDIA_TYPE"),
  THROTTLED: { ...contractStatus("TOO_MANY_REQUESTS"), headers: RETRY_SOON },
  QUOTA_EXCEEDED: { ...contractStatus("TOO_MANY_REQUESTS"), headers: RETRY_SOON },
  AUTHORIZER_FAILURE: contractStatus("INTERNAL_ERROR"),
  AUTHORIZER_CONFIGURATION_ERROR: contractStatus("INTERNAL_ERROR"),
  API_CONFIGURATION_ERROR: contractStatus("INTERNAL_ERROR"),
  INTEGRATION_FAILURE: contractStatus("INTERNAL_ERROR"),
  INTEGRATION_TIMEOUT: { code: "INTERNAL_ERROR", status: 504 },
  DEFAULT_4XX: { code: "INVALID_REQUEST" },
  DEFAULT_5XX: { code: "INTERNAL_ERROR" },
} as const satisfies Record<string, GatewayError>;

/** Contract body of an error that no function answers. */
export const contractBody = (code: ErrorCode, message: string = ERRORS[code].message): string =>
  JSON.stringify({ error: code, message } satisfies ErrorBody);

/** Gives every error that API Gateway answers itself the contract's body. */
export const addGatewayResponses = (api: RestApi): void => {
  for (const [type, { code, status, headers, message }] of Object.entries<GatewayError>(GATEWAY_RESPONSES))
    api.addGatewayResponse(type, {
      type: ResponseType.of(type),
      ...(status !== undefined && { statusCode: String(status) }),
      ...(headers && {
        responseHeaders: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, `'${value}'`]),
        ),
      }),
      templates: { "application/json": contractBody(code, message) },
    });
};
