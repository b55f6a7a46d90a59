import middy, { type MiddlewareObj, type MiddyfiedHandler } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type * as z from "zod/mini";
import type { Endpoint } from "../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type ErrorCode, type Issue } from "../lib/contract/errors.ts";
import { applicationId, type ApplicationId } from "../lib/identifiers.ts";
import { now } from "./configuration.ts";
import { logger, safely } from "./logger.ts";
import { count, takeColdStart } from "./metrics.ts";
import { takeObservations } from "./observe.ts";
import { readRequestBody } from "./request-body.ts";

/** Arguments of a use case: the parsed request, and the application of the credential where there is one. */
export interface Call<E extends Endpoint> {
  readonly request: z.output<ReturnType<E["request"]>>;
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

const requestOf = <E extends Endpoint>(
  endpoint: E,
  event: APIGatewayProxyEvent,
): z.output<ReturnType<E["request"]>> => {
  const input = endpoint.method === "GET" ? pathParametersOf(event) : readRequestBody(event);
  const parsed = endpoint.request().safeParse(input);
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
): Call<E>["applicationIdentifier"] => {
  type Identifier = Call<E>["applicationIdentifier"];
  if (endpoint.scope === null) return null as Identifier;
  const identifier: unknown = requestContext.authorizer?.["applicationIdentifier"];
  if (typeof identifier !== "string") throw new Error("The authorizer passed no application on.");
  return applicationId(identifier) as Identifier;
};

const shownOf = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : new ServiceError("INTERNAL_ERROR");

/** Every failure becomes a response of the contract; what is not ours is `INTERNAL_ERROR`, logged and never shown. */
const presentErrors: MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult> = {
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

const LINK_REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  "CUSTOMER_ALREADY_LINKED",
  "IDENTITY_CONFLICT",
]);

/** The application of the credential; whose it is, is no secret. */
const credentialOf = ({ requestContext }: APIGatewayProxyEvent) => {
  const { applicationIdentifier, keyIdentifier } = requestContext.authorizer ?? {};
  return { application: applicationIdentifier, keyIdentifier };
};

/**
 * One line in the log for each request, and its metrics. The line tells what was asked of whom, how it ended and what it
 * took; nothing that a caller or a store said is in it.
 */
const recordRequests = (definition: Endpoint): MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult> => {
  const store = /(?:android|ios)-store/.exec(definition.path)?.[0];
  let startedAt = now();
  let coldStart = false;

  const record = (
    { event, context, error }: { event: APIGatewayProxyEvent; context: Context; error?: unknown },
    shown: ServiceError | null,
  ): void => {
    const outcome = shown?.code ?? "OK";
    count("requests", { endpoint: definition.function, outcome });
    if (LINK_REFUSALS.has(outcome)) count("linksRefused", { outcome });
    const line = {
      endpoint: definition.function,
      store,
      requestId: event.requestContext.requestId,
      invocation: context.awsRequestId,
      ...credentialOf(event),
      ...takeObservations(),
      outcome,
      status: shown?.status ?? 200,
      milliseconds: now() - startedAt,
      coldStart,
    };
    if (shown !== null && shown.status >= 500) logger.error("request", { ...line, error: safely(error) });
    else logger.info("request", line);
  };
  return {
    before: () => {
      startedAt = now();
      coldStart = takeColdStart();
      takeObservations();
    },
    after: (handling) => record(handling, null),
    onError: (handling) => record(handling, shownOf(handling.error)),
  };
};

/** The handler of an endpoint: event → parsed request → use case → response or error. */
export const endpoint = <E extends Endpoint>(
  definition: E,
  useCase: (call: Call<E>) => Promise<z.input<ReturnType<E["response"]>>>,
): MiddyfiedHandler<APIGatewayProxyEvent, APIGatewayProxyResult> =>
  middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .use([recordRequests(definition), presentErrors])
    .handler(async (event) =>
      json(
        200,
        await useCase({
          request: requestOf(definition, event),
          applicationIdentifier: applicationOf(definition, event),
        }),
      ),
    );
