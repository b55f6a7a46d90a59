import type { MiddlewareObj, Request } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type { Endpoint } from "../../lib/contract/endpoints.ts";
import type { ErrorCode, ServiceError } from "../../lib/contract/errors.ts";
import { now } from "../configuration.ts";
import { logger, safely } from "../observability/logger.ts";
import { peakMegabytes, takeEnvironment, type Environment } from "../observability/environment.ts";
import { count } from "../observability/metrics.ts";
import { takeObservations } from "../observability/observe.ts";
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

/** Request state, kept until the line is written. */
interface Begun extends Record<string, unknown> {
  startedAt?: number;
  environment?: Environment;
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
    count("requests", { endpoint, outcome });
    if (LINK_REFUSALS.has(outcome)) count("linksRefused", { outcome });
    const line = {
      endpoint,
      ...(store !== null && { store }),
      requestId: event.requestContext.requestId,
      invocation: context.awsRequestId,
      ...credentialOf(event),
      ...takeObservations(),
      outcome,
      status: shown?.status ?? 200,
      ...(shown?.because !== undefined && { because: shown.because }),
      milliseconds: now() - (internal.startedAt ?? now()),
      ...internal.environment,
      peakMegabytes: peakMegabytes(),
    };
    if (shown !== null && shown.status >= 500) logger.error("request", { ...line, error: safely(error) });
    else logger.info("request", line);
  };
  return {
    before: ({ internal }) => {
      internal.startedAt = now();
      internal.environment = takeEnvironment();
      takeObservations();
    },
    after: (handling) => write(handling, null),
    onError: (handling) => write(handling, shownOf(handling.error)),
  };
};
