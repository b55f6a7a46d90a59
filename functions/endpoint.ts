import middy, { type MiddlewareObj, type MiddyfiedHandler } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import type * as z from "zod";
import type { Endpoint } from "../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type Issue } from "../lib/contract/errors.ts";
import { applicationId, type ApplicationId } from "../lib/identifiers.ts";
import { logger, safely } from "./logger.ts";

/** What a use case is called with: the parsed request, and the application of the credential where there is one. */
export interface Call<E extends Endpoint> {
  readonly request: z.output<E["request"]>;
  readonly applicationIdentifier: E["scope"] extends null ? null : ApplicationId;
}

/** Shown issues of one request; the first ones tell enough. */
const ISSUES_SHOWN = 20;

/** Seconds after which a store that could not be reached may be asked again. */
const RETRY_AFTER_SECONDS = 5;

const json = (
  statusCode: number,
  body: unknown,
  headers: Record<string, string> = {},
): APIGatewayProxyResult => ({
  statusCode,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers },
  body: JSON.stringify(body),
});

const invalid = (issues: readonly Issue[]): ServiceError => new ServiceError("INVALID_REQUEST", { issues });

const bodyOf = ({ body, isBase64Encoded }: APIGatewayProxyEvent): unknown => {
  const text = isBase64Encoded ? Buffer.from(body ?? "", "base64").toString("utf8") : (body ?? "");
  try {
    return JSON.parse(text);
  } catch {
    throw invalid([{ path: "", message: "The body is not JSON." }]);
  }
};

/** REST APIs pass path parameters on as they were sent: percent-encoded. They are decoded here, exactly once. */
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

const requestOf = <E extends Endpoint>(endpoint: E, event: APIGatewayProxyEvent): z.output<E["request"]> => {
  const input = endpoint.method === "GET" ? pathParametersOf(event) : bodyOf(event);
  const parsed = endpoint.request.safeParse(input);
  if (parsed.success) return parsed.data as z.output<E["request"]>;
  throw invalid(
    parsed.error.issues
      .slice(0, ISSUES_SHOWN)
      .map(({ path, message }) => ({ path: path.map(String).join("."), message })),
  );
};

const applicationOf = <E extends Endpoint>(
  endpoint: E,
  { requestContext }: APIGatewayProxyEvent,
): Call<E>["applicationIdentifier"] => {
  type Identifier = Call<E>["applicationIdentifier"];
  if (endpoint.scope === null) return null as Identifier;
  const identifier: unknown = requestContext.authorizer?.["applicationIdentifier"];
  if (typeof identifier !== "string") throw new Error("The authorizer passed no application on.");
  return applicationId(identifier) as Identifier;
};

/** Every failure becomes a response of the contract; what is not ours is `INTERNAL_ERROR`, logged and never shown. */
const presentErrors: MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult> = {
  onError: (handling) => {
    const { error } = handling;
    const shown = error instanceof ServiceError ? error : new ServiceError("INTERNAL_ERROR");
    if (shown.status >= 500) logger.error("request failed", { code: shown.code, error: safely(error) });
    handling.response = json(
      shown.status,
      errorBody(shown),
      shown.status === 503 || shown.status === 429
        ? { "Retry-After": String(shown.retryAfterSeconds ?? RETRY_AFTER_SECONDS) }
        : {},
    );
  },
};

/** The handler of an endpoint: event → parsed request → use case → response or error. */
export const endpoint = <E extends Endpoint>(
  definition: E,
  useCase: (call: Call<E>) => Promise<z.input<E["response"]>>,
): MiddyfiedHandler<APIGatewayProxyEvent, APIGatewayProxyResult> =>
  middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .use(presentErrors)
    .handler(async (event) =>
      json(
        200,
        await useCase({
          request: requestOf(definition, event),
          applicationIdentifier: applicationOf(definition, event),
        }),
      ),
    );
