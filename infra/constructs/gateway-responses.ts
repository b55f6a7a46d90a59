import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { ERRORS, type ErrorBody, type ErrorCode } from "../../lib/contract/errors.ts";

interface GatewayError {
  readonly code: ErrorCode;
  /** Unset: the status that API Gateway gives this type. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const contractStatus = (code: ErrorCode): GatewayError => ({ code, status: ERRORS[code].status });

/**
 * What API Gateway answers itself, by type of response. `DEFAULT_4XX` and `DEFAULT_5XX` catch the types that are not
 * here; they have no status, because a status there would replace those of all the types they catch.
 *
 * No method uses IAM or API Gateway's own keys, so the signature types can only come from a request without a route
 * whose Authorization header API Gateway took for a signature.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
export const GATEWAY_RESPONSES = {
  UNAUTHORIZED: {
    ...contractStatus("INVALID_CREDENTIAL"),
    headers: { "WWW-Authenticate": "Bearer" },
  },
  ACCESS_DENIED: contractStatus("INSUFFICIENT_SCOPE"),
  MISSING_AUTHENTICATION_TOKEN: contractStatus("ROUTE_NOT_FOUND"),
  RESOURCE_NOT_FOUND: contractStatus("ROUTE_NOT_FOUND"),
  INVALID_SIGNATURE: contractStatus("ROUTE_NOT_FOUND"),
  EXPIRED_TOKEN: contractStatus("ROUTE_NOT_FOUND"),
  INVALID_API_KEY: contractStatus("ROUTE_NOT_FOUND"),
  BAD_REQUEST_BODY: contractStatus("INVALID_REQUEST"),
  BAD_REQUEST_PARAMETERS: contractStatus("INVALID_REQUEST"),
  REQUEST_TOO_LARGE: contractStatus("REQUEST_TOO_LARGE"),
  UNSUPPORTED_MEDIA_TYPE: contractStatus("UNSUPPORTED_MEDIA_TYPE"),
  THROTTLED: contractStatus("TOO_MANY_REQUESTS"),
  QUOTA_EXCEEDED: contractStatus("TOO_MANY_REQUESTS"),
  AUTHORIZER_FAILURE: contractStatus("INTERNAL_ERROR"),
  AUTHORIZER_CONFIGURATION_ERROR: contractStatus("INTERNAL_ERROR"),
  API_CONFIGURATION_ERROR: contractStatus("INTERNAL_ERROR"),
  INTEGRATION_FAILURE: contractStatus("INTERNAL_ERROR"),
  INTEGRATION_TIMEOUT: { code: "INTERNAL_ERROR", status: 504 },
  DEFAULT_4XX: { code: "INVALID_REQUEST" },
  DEFAULT_5XX: { code: "INTERNAL_ERROR" },
} as const satisfies Record<string, GatewayError>;

/** The body of an error that no function answers. */
export const contractBody = (code: ErrorCode): string =>
  JSON.stringify({ error: code, message: ERRORS[code].message } satisfies ErrorBody);

/** Gives every error that the gateway makes itself the body of the contract. */
export const addGatewayResponses = (api: RestApi): void => {
  for (const [type, { code, status, headers }] of Object.entries<GatewayError>(GATEWAY_RESPONSES))
    api.addGatewayResponse(type, {
      type: ResponseType.of(type),
      ...(status !== undefined && { statusCode: String(status) }),
      ...(headers && {
        responseHeaders: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, `'${value}'`]),
        ),
      }),
      templates: { "application/json": contractBody(code) },
    });
};
