import middy, { type MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type * as z from "zod/mini";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type ErrorCode } from "../../lib/contract/errors.ts";
import { count } from "../observability/metrics.ts";
import { keepingObservations, observations } from "../observability/observe.ts";
import { beginInvocation } from "../observability/write-invocation.ts";
import { readRequest, type Call } from "./read-request.ts";

/** Default `Retry-After` of a 429 or 503, in seconds. */
const RETRY_AFTER_SECONDS = 5;

const LINK_REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  "CUSTOMER_ALREADY_LINKED",
  "IDENTITY_CONFLICT",
]);

const json = (
  statusCode: number,
  body: unknown,
  headers: Record<string, string> = {},
): APIGatewayProxyResult => ({
  statusCode,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers },
  body: JSON.stringify(body),
});

const errorAnswer = (shown: ServiceError): APIGatewayProxyResult =>
  json(
    shown.status,
    errorBody(shown),
    shown.status === 503 || shown.status === 429
      ? { "Retry-After": String(shown.retryAfterSeconds ?? RETRY_AFTER_SECONDS) }
      : {},
  );

/**
 * The result writes a request's log line and metrics, with the error that the caller is shown. The line holds nothing
 * that a caller sent and, of a store's answer, only the status and a one-word reason.
 */
const beginRequest = (
  { function: endpoint, store }: Endpoint,
  { requestContext }: APIGatewayProxyEvent,
  { awsRequestId: invocation }: Context,
) => {
  const write = beginInvocation("request", endpoint);
  return (shown: ServiceError | null, error?: unknown): void => {
    const outcome = shown?.code ?? "OK";
    if (LINK_REFUSALS.has(outcome)) count("linksRefused", { outcome });
    // Credential identifiers are not secret.
    const { applicationIdentifier: application, keyIdentifier } = requestContext.authorizer ?? {};
    write(
      {
        ...(store !== null && { store }),
        requestId: requestContext.requestId,
        invocation,
        application,
        keyIdentifier,
        ...observations(),
        outcome,
        status: shown?.status ?? 200,
        ...(shown?.because !== undefined && { because: shown.because }),
      },
      shown !== null && shown.status >= 500 ? error : undefined,
    );
  };
};

interface Begun extends Record<string, unknown> {
  write?: ReturnType<typeof beginRequest>;
}

/** Writes each request's line, and answers errors: `INTERNAL_ERROR` for anything outside the contract. */
const answering = (
  definition: Endpoint,
): MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Begun> => ({
  before: ({ event, context, internal }) => {
    internal.write = beginRequest(definition, event, context);
  },
  after: ({ internal }) => internal.write?.(null),
  onError: (handling) => {
    const { error, internal } = handling;
    const shown = error instanceof ServiceError ? error : new ServiceError("INTERNAL_ERROR");
    internal.write?.(shown, error);
    handling.response = errorAnswer(shown);
  },
});

/** Handler of an endpoint: event → call → use case → response or error, and a log line. */
export const endpoint = <E extends Endpoint>(
  definition: E,
  useCase: (call: Call<E>) => Promise<z.input<ReturnType<E["response"]>>>,
): ((event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>) =>
  keepingObservations(
    middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Begun>()
      .use(answering(definition))
      .handler(async (event) => json(200, await useCase(readRequest(definition, event)))),
  );
