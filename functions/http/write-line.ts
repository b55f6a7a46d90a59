import type { MiddlewareObj, Request } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import type { ErrorCode, ServiceError } from "../../lib/contract/errors.ts";
import { count } from "../observability/metrics.ts";
import { observations } from "../observability/observe.ts";
import { beginInvocation, type WriteInvocation } from "../observability/write-invocation.ts";
import { shownOf } from "./present-error.ts";

const LINK_REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  "CUSTOMER_ALREADY_LINKED",
  "IDENTITY_CONFLICT",
]);

/** Credential identifiers for the log; not secret. */
const credentialOf = ({ requestContext }: APIGatewayProxyEvent) => {
  const { applicationIdentifier, keyIdentifier } = requestContext.authorizer ?? {};
  return { application: applicationIdentifier, keyIdentifier };
};

/** Middy's place for what a request keeps between its middlewares. */
interface Begun extends Record<string, unknown> {
  write?: WriteInvocation;
}

/**
 * Writes one log line and the metrics of each request. The line holds nothing that a caller sent and, from a store's
 * answer, only the status and a one-word reason.
 */
export const writeLine = ({
  function: endpoint,
  store,
}: Endpoint): MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Begun> => {
  const write = (
    {
      event,
      context,
      error,
      internal,
    }: Request<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context, Begun>,
    shown: ServiceError | null,
  ): void => {
    const outcome = shown?.code ?? "OK";
    if (LINK_REFUSALS.has(outcome)) count("linksRefused", { outcome });
    internal.write?.(
      {
        ...(store !== null && { store }),
        requestId: event.requestContext.requestId,
        invocation: context.awsRequestId,
        ...credentialOf(event),
        ...observations(),
        outcome,
        status: shown?.status ?? 200,
        ...(shown?.because !== undefined && { because: shown.because }),
      },
      shown !== null && shown.status >= 500 ? error : undefined,
    );
  };
  return {
    before: ({ internal }) => {
      internal.write = beginInvocation("request", endpoint);
    },
    after: (handling) => write(handling, null),
    onError: (handling) => write(handling, shownOf(handling.error)),
  };
};
