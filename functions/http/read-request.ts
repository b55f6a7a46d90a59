import type * as z from "zod/mini";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import { type Issue, ServiceError } from "../../lib/contract/errors.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { isUtf8 } from "node:buffer";

/**
 * Bounds of a body's JSON, checked before parsing: five megabytes of brackets compress to five kilobytes and take half a
 * second of CPU to parse. The contract needs a depth of two and about 1,100 values; unknown members have the rest. Long
 * strings, names, numbers and white space cost less than JWS of the same size.
 */
export const BOUNDS = { depth: 16, values: 4_096 } as const;

interface Excess {
  readonly position: number;
  readonly bound: keyof typeof BOUNDS;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Position of the quote that closes the JSON string opened at `start`; the body's end if none does. */
const endOfText = (json: string, start: number): number => {
  let end = start;
  for (;;) {
    end = json.indexOf('"', end + 1);
    if (end === -1) return json.length;
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
};

/**
 * First position at which a body exceeds a bound; null if none. One pass, which skips strings. Opening brackets and
 * commas count as values. Invalid JSON is not detected here.
 */
export const findExcess = (json: string): Excess | null => {
  let depth = 0;
  let values = 0;
  for (let position = 0; position < json.length; position += 1) {
    switch (json.charCodeAt(position)) {
      case QUOTE:
        position = endOfText(json, position);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        if (depth > BOUNDS.depth) return { position, bound: "depth" };
        if (values > BOUNDS.values) return { position, bound: "values" };
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (values > BOUNDS.values) return { position, bound: "values" };
        break;
    }
  }
  return null;
};

const MESSAGES: Record<keyof typeof BOUNDS, string> = {
  depth: `must not nest deeper than ${BOUNDS.depth}`,
  values: `must not hold more than ${BOUNDS.values} values`,
};

const invalid = (issues: readonly Issue[]): ServiceError => new ServiceError("INVALID_REQUEST", { issues });
const invalidBody = (message: string): ServiceError => invalid([{ path: "", message }]);

const NOT_JSON = "The body is not JSON.";

/** @throws ServiceError `INVALID_REQUEST` if the body is not UTF-8 */
export const bodyText = ({
  body,
  isBase64Encoded,
}: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">): string => {
  if (!isBase64Encoded) return body ?? "";
  const bytes = Buffer.from(body ?? "", "base64");
  // Decoding replaces invalid bytes with U+FFFD, which could make two member names equal.
  if (!isUtf8(bytes)) throw invalidBody(NOT_JSON);
  return bytes.toString("utf8");
};

/**
 * @param mostBytes maximum size of the decoded body; unset: the gateway's limit
 * @throws ServiceError `INVALID_REQUEST` if the body is not JSON in UTF-8, or exceeds a bound
 */
export const readRequestBody = (
  event: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">,
  mostBytes = Infinity,
): unknown => {
  const text = bodyText(event);
  if (Buffer.byteLength(text) > mostBytes) throw invalidBody(`must be at most ${mostBytes} bytes`);
  const excess = findExcess(text);
  if (excess !== null) throw invalidBody(MESSAGES[excess.bound]);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody(NOT_JSON);
  }
};

/** Sender and address of a request, for an endpoint that reads its `Authorization` header. */
export interface Sender {
  /** `Authorization` header; null: none was sent. Never logged. */
  readonly authorization: string | null;
  /** URL that the request was sent to, without its query. */
  readonly address: string;
}

/** Body of a request as it came. Never logged. */
export interface SentBody {
  readonly body: string;
  /** `Content-Type` header; null: none was sent. */
  readonly contentType: string | null;
}

/** Null where the endpoint takes no API key. */
type ApplicationOf<E extends Endpoint> = E["scope"] extends null ? null : ApplicationId;

/** Arguments of a use case: the parsed request, and who sent it. */
export type Call<E extends Endpoint> = {
  readonly request: z.output<ReturnType<E["request"]>>;
  readonly applicationIdentifier: ApplicationOf<E>;
} & (E extends { readonly readsAuthorization: true } ? Sender : unknown) &
  (E extends { readonly readsBody: true } ? SentBody : unknown);

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  array: "an array",
  object: "an object",
};

const ISSUES_SHOWN = 20;

/** Message for a field that is missing, or of another type; it follows the field's path in a sentence. */
const messageOf: z.core.$ZodErrorMap = ({ code, input, ...issue }) => {
  if (input === undefined) return "is required";
  if (code === "invalid_type") return `must be ${EXPECTED[String(issue["expected"])] ?? issue["expected"]}`;
  if (code === "invalid_value" && Array.isArray(issue["values"]))
    return `must be ${issue["values"].join(" or ")}`;
  return undefined;
};

/** Decoded exactly once: a REST API passes them on percent-encoded. */
const pathParametersOf = ({ pathParameters }: APIGatewayProxyEvent): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pathParameters ?? {}).map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value ?? "")];
      } catch {
        throw invalid([{ path: name, message: "The percent-encoding is not valid." }]);
      }
    }),
  );

const requestOf = <E extends Endpoint>(
  endpoint: E,
  event: APIGatewayProxyEvent,
): z.output<ReturnType<E["request"]>> => {
  const input =
    endpoint.method === "GET"
      ? { ...event.queryStringParameters, ...pathParametersOf(event) }
      : readRequestBody(event, endpoint.bodyBytes);
  const parsed = endpoint.request().safeParse(input, { error: messageOf });
  if (parsed.success) return parsed.data as z.output<ReturnType<E["request"]>>;
  throw invalid(
    parsed.error.issues
      .slice(0, ISSUES_SHOWN)
      .map(({ path, message }) => ({ path: path.map(String).join("."), message })),
  );
};

const applicationOf = <E extends Endpoint>(
  endpoint: E,
  { requestContext }: APIGatewayProxyEvent,
): ApplicationOf<E> => {
  if (endpoint.scope === null) return null as ApplicationOf<E>;
  const identifier: unknown = requestContext.authorizer?.["applicationIdentifier"];
  if (typeof identifier !== "string") throw new Error("The authorizer passed no application identifier.");
  return applicationId(identifier) as ApplicationOf<E>;
};

/** The gateway's own test page sends null in place of headers. */
const headerOf = ({ headers }: APIGatewayProxyEvent, wanted: string): string | null => {
  const sent: APIGatewayProxyEvent["headers"] | null = headers;
  return Object.entries(sent ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;
};

/** With API Gateway's own domain name, the context's path includes the stage. */
const senderOf = (event: APIGatewayProxyEvent): Sender => {
  const { domainName, path } = event.requestContext;
  return { authorization: headerOf(event, "authorization"), address: `https://${domainName ?? ""}${path}` };
};

/**
 * Event → call, by the endpoint's schema.
 *
 * @throws ServiceError `INVALID_REQUEST` with the paths of the invalid fields
 */
export const readRequest = <E extends Endpoint>(endpoint: E, event: APIGatewayProxyEvent): Call<E> =>
  ({
    request: requestOf(endpoint, event),
    applicationIdentifier: applicationOf(endpoint, event),
    ...(endpoint.readsAuthorization === true && senderOf(event)),
    ...(endpoint.readsBody === true && {
      body: bodyText(event),
      contentType: headerOf(event, "content-type"),
    }),
  }) as Call<E>;
