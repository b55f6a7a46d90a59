import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { deflate, gunzip, gzip, inflate } from "node:zlib";
import * as z from "zod";
import { boundedBytes } from "../../lib/bounded-text.ts";
import type { Assembly } from "../lambda/assembly.ts";
import { codeOf, LocalError } from "../server.ts";

/**
 * Types of response that API Gateway answers itself, with their default statuses.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const STATUSES = {
  ACCESS_DENIED: 403,
  AUTHORIZER_CONFIGURATION_ERROR: 500,
  AUTHORIZER_FAILURE: 500,
  BAD_REQUEST_BODY: 400,
  INTEGRATION_TIMEOUT: 504,
  MISSING_AUTHENTICATION_TOKEN: 403,
  REQUEST_TOO_LARGE: 413,
  UNAUTHORIZED: 401,
  UNSUPPORTED_MEDIA_TYPE: 415,
  /** Also of a failed function and a malformed response, which have no type of their own. */
  DEFAULT_5XX: 502,
} as const;

type ResponseType = keyof typeof STATUSES;

interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** The authorizer's context. */
  readonly context?: Readonly<Record<string, string>>;
  /** Why, for the request's line; unset: the type says it. */
  readonly because?: string;
}

/** An error that API Gateway answers itself. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly type: ResponseType;
  readonly options: GatewayErrorOptions;

  constructor(type: ResponseType, options: GatewayErrorOptions = {}) {
    super(type, options);
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

const VARIABLE = /\$context\.authorizer\.(\w+)/g;

// Strict about what is not supported here: another content type, another variable, a header that is not a text.
const gatewayResponse = z.object({
  ResponseType: z.string(),
  StatusCode: z.coerce.number().int().optional(),
  ResponseParameters: z.record(z.string().startsWith(HEADER), z.string().regex(/^'.*'$/)).default({}),
  ResponseTemplates: z.strictObject({
    [CONTENT_TYPE]: z.string().refine((text) => !text.replaceAll(VARIABLE, "").includes("$")),
  }),
});

/** Answers errors with the template's gateway responses, by plain substitution of variables as in API Gateway. */
export const gatewayResponsesOf = (assembly: Assembly): ((error: GatewayError) => GatewayAnswer) => {
  const responses = new Map(
    [...assembly.resourcesOf("AWS::ApiGateway::GatewayResponse", gatewayResponse).values()].map(
      (response) => [response.ResponseType, response],
    ),
  );
  const [of4xx, of5xx] = [responses.get("DEFAULT_4XX"), responses.get("DEFAULT_5XX")];
  if (!of4xx || !of5xx)
    throw new LocalError("The template must have the gateway responses DEFAULT_4XX and 5XX.");
  return ({ type, options: { context = {} } }) => {
    const status = STATUSES[type];
    const response = responses.get(type) ?? (status < 500 ? of4xx : of5xx);
    const template = response.ResponseTemplates[CONTENT_TYPE];
    return {
      status: response.StatusCode ?? status,
      headers: [
        ["Content-Type", CONTENT_TYPE],
        ...Object.entries(response.ResponseParameters).map(
          ([name, value]) => [name.slice(HEADER.length), value.slice(1, -1)] as const,
        ),
      ],
      body: Buffer.from(template.replaceAll(VARIABLE, (_, name: string) => context[name] ?? "")),
    };
  };
};

/** API Gateway's limit for a request body, compressed and decompressed, in bytes. */
const LARGEST_BODY = 10 * 1024 * 1024;

/** Content codings of API Gateway, the preferred one first. */
const CODINGS = [
  { name: "gzip", compress: promisify(gzip), decompress: promisify(gunzip) },
  { name: "deflate", compress: promisify(deflate), decompress: promisify(inflate) },
];

/**
 * Reads a request's body as text; null if it is empty.
 *
 * @throws GatewayError if the body exceeds the limit or does not match Content-Encoding
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
export const readBody = async (request: IncomingMessage): Promise<string | null> => {
  // Keeps the connection open after a refusal; otherwise the caller never sees it.
  const body = await boundedBytes(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
  if (body === null) throw new GatewayError("REQUEST_TOO_LARGE");
  if (body.length === 0) return null;
  const given = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (given === "identity") return body.toString("utf8");
  const coding = CODINGS.find(({ name }) => name === given);
  if (coding === undefined) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
  try {
    return (await coding.decompress(body, { maxOutputLength: LARGEST_BODY })).toString("utf8");
  } catch (cause) {
    const isTooLarge = codeOf(cause) === "ERR_BUFFER_TOO_LARGE";
    throw new GatewayError(isTooLarge ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY", { cause });
  }
};

const acceptedCoding = (acceptEncoding: string) => {
  const qualities = new Map(
    [...acceptEncoding.toLowerCase().matchAll(/([^\s,;]+)(?:\s*;\s*q=([\d.]+))?/g)].map(
      ([, coding = "", quality = "1"]) => [coding, Number(quality)],
    ),
  );
  return CODINGS.find(({ name }) => (qualities.get(name) ?? qualities.get("*") ?? 0) > 0);
};

/** Compresses a response of at least `minimumSize` bytes for a caller that accepts it. */
export const compressed = async (
  answer: GatewayAnswer,
  acceptEncoding: string | undefined,
  minimumSize: number,
): Promise<GatewayAnswer> => {
  const coding = acceptedCoding(acceptEncoding ?? "");
  if (answer.body.length < minimumSize || coding === undefined) return answer;
  return {
    ...answer,
    headers: [...answer.headers, ["Content-Encoding", coding.name]],
    body: await coding.compress(answer.body),
  };
};
