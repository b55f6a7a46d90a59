import type { APIGatewayProxyEvent } from "aws-lambda";
import type * as z from "zod/mini";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import { ServiceError, type Issue } from "../../lib/contract/errors.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { bodyText, readRequestBody } from "./request-body.ts";

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

const invalid = (issues: readonly Issue[]): ServiceError => new ServiceError("INVALID_REQUEST", { issues });

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
