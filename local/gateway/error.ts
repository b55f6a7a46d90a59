import * as z from "zod";
import type { Assembly } from "../lambda/assembly.ts";
import { LocalError } from "../local-error.ts";

/**
 * Types of response that API Gateway answers itself, with their default statuses and messages.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const RESPONSE_TYPES = {
  ACCESS_DENIED: { status: 403, message: "User is not authorized to access this resource" },
  AUTHORIZER_CONFIGURATION_ERROR: { status: 500, message: null },
  AUTHORIZER_FAILURE: { status: 500, message: null },
  BAD_REQUEST_BODY: { status: 400, message: "Invalid request body" },
  INTEGRATION_TIMEOUT: { status: 504, message: "Endpoint request timed out" },
  MISSING_AUTHENTICATION_TOKEN: { status: 403, message: "Missing Authentication Token" },
  REQUEST_TOO_LARGE: { status: 413, message: "Request Too Long" },
  UNAUTHORIZED: { status: 401, message: "Unauthorized" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: "Unsupported Media Type" },
  /** Also used for a failed function and a malformed proxy response, which have no type of their own. */
  DEFAULT_5XX: { status: 502, message: "Internal server error" },
} as const satisfies Record<string, { status: number; message: string | null }>;

type ResponseType = keyof typeof RESPONSE_TYPES;

interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** The authorizer's context. */
  readonly context?: Readonly<Record<string, string>>;
  /** Why, for the request's line; unset: the type says it. */
  readonly because?: string;
  /** Invocation that decided it, and may have logged why. */
  readonly invocation?: string;
}

/** An error that API Gateway answers itself. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly type: ResponseType;
  readonly options: GatewayErrorOptions;

  constructor(type: ResponseType, options: GatewayErrorOptions = {}) {
    super(RESPONSE_TYPES[type].message ?? type, options);
    this.type = type;
    this.options = options;
  }
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

const CONTENT_TYPE = "application/json";
const HEADER = "gatewayresponse.header.";

// Strict about what is not supported here: another content type, and a header's value that is not a text.
const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.coerce.number().int().optional(),
  ResponseParameters: z.record(z.string().startsWith(HEADER), z.string().regex(/^'.*'$/)).default({}),
  ResponseTemplates: z.strictObject({ [CONTENT_TYPE]: z.string() }),
});

const substitute = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$context((?:\.[A-Za-z]\w*)+)/g, (_, path: string) => variables[path.slice(1)] ?? "");

/** Answers errors with the template's gateway responses, by plain substitution of variables as in API Gateway. */
export const gatewayResponsesOf = (
  assembly: Assembly,
): ((error: GatewayError, requestId: string) => GatewayAnswer) => {
  const responses = new Map(
    [...assembly.resourcesOf("AWS::ApiGateway::GatewayResponse", gatewayResponse).values()].map(
      (response) => [response.ResponseType, response],
    ),
  );
  const [of4xx, of5xx] = [responses.get("DEFAULT_4XX"), responses.get("DEFAULT_5XX")];
  if (!of4xx || !of5xx)
    throw new LocalError("The template must have the gateway responses DEFAULT_4XX and 5XX.");
  return ({ type, options: { context = {} } }, requestId) => {
    const { status, message } = RESPONSE_TYPES[type];
    const response = responses.get(type) ?? (status < 500 ? of4xx : of5xx);
    const variables = {
      requestId,
      "error.messageString": JSON.stringify(message),
      ...Object.fromEntries(Object.entries(context).map(([name, text]) => [`authorizer.${name}`, text])),
    };
    return {
      status: response.StatusCode ?? status,
      headers: [
        ["Content-Type", CONTENT_TYPE],
        ...Object.entries(response.ResponseParameters).map(
          ([name, value]) => [name.slice(HEADER.length), value.slice(1, -1)] as const,
        ),
      ],
      body: Buffer.from(substitute(response.ResponseTemplates[CONTENT_TYPE], variables)),
    };
  };
};
