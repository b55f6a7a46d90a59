import * as z from "zod";
import type { Template } from "../lambda/template.ts";

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

/** Variables of gateway responses, as `$context.<name>`. */
export type ContextVariables = Readonly<Record<string, string>>;

type ResponseType = keyof typeof RESPONSE_TYPES;

/** An error that API Gateway answers itself, with the given type of gateway response. */
export class GatewayError extends Error {
  readonly type: ResponseType;
  /** Variables that are known of this error only, such as the authorizer's context. */
  readonly variables: ContextVariables;
  /** Why, for the person who runs the service; null: the type says it. */
  readonly because: string | null;
  /** Invocation of a function that decided it, and may have logged why; null: none did. */
  readonly invocation: string | null;

  constructor(
    type: ResponseType,
    options: { cause?: unknown; variables?: ContextVariables; because?: string; invocation?: string } = {},
  ) {
    super(RESPONSE_TYPES[type].message ?? type, options);
    this.name = "GatewayError";
    this.type = type;
    this.variables = options.variables ?? {};
    this.because = options.because ?? null;
    this.invocation = options.invocation ?? null;
  }
}

export interface GatewayAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.coerce.number().int().optional(),
  ResponseParameters: z.record(z.string(), z.string()).default({}),
  ResponseTemplates: z.record(z.string(), z.string()).default({}),
});

const CONTENT_TYPE = "application/json";
const HEADER = "gatewayresponse.header.";
const DEFAULT_TEMPLATE = '{"message":$context.error.messageString}';

const substitute = (text: string, variables: ContextVariables): string =>
  text.replaceAll(/\$context((?:\.[A-Za-z]\w*)+)/g, (_, path: string) => variables[path.slice(1)] ?? "");

const headerValue = (expression: string, variables: ContextVariables): string =>
  /^'(.*)'$/.exec(expression)?.[1] ?? variables[expression.replace(/^context\./, "")] ?? "";

/** Answers errors with the template's gateway responses, by plain substitution of variables as in API Gateway. */
export const gatewayResponsesOf = (
  template: Template,
): ((error: GatewayError, variables: ContextVariables) => GatewayAnswer) => {
  const responses = new Map(
    [...template.resourcesOf("AWS::ApiGateway::GatewayResponse", gatewayResponse).values()].map(
      (response) => [response.ResponseType, response],
    ),
  );
  return ({ type, variables: known }, variables) => {
    const { status, message } = RESPONSE_TYPES[type];
    const response = responses.get(type) ?? responses.get(status < 500 ? "DEFAULT_4XX" : "DEFAULT_5XX");
    const all = {
      ...variables,
      ...known,
      "error.message": message ?? "",
      "error.messageString": JSON.stringify(message),
      "error.responseType": type,
    };
    return {
      status: response?.StatusCode ?? status,
      headers: [
        ["Content-Type", CONTENT_TYPE],
        ...Object.entries(response?.ResponseParameters ?? {})
          .filter(([name]) => name.startsWith(HEADER))
          .map(([name, value]) => [name.slice(HEADER.length), headerValue(value, all)] as const),
      ],
      body: Buffer.from(substitute(response?.ResponseTemplates[CONTENT_TYPE] ?? DEFAULT_TEMPLATE, all)),
    };
  };
};
