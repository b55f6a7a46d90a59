import type { APIGatewayAuthorizerResult, APIGatewayTokenAuthorizerEvent, Context } from "aws-lambda";
import { composeAuthorize } from "./composition.ts";
import { now } from "./configuration.ts";
import { logger, safely } from "./observability/logger.ts";
import { peakMegabytes, takeEnvironment } from "./observability/environment.ts";
import { count } from "./observability/metrics.ts";
import { table } from "./table.ts";
import { policyFor } from "./policy.ts";

const authorize = composeAuthorize({ table, now });

/** No stack: Lambda logs what is thrown, and a refused key needs no investigation. */
const unauthorized = (): Error => {
  const error = new Error("Unauthorized");
  error.stack = "";
  return error;
};

const FOLDER = "authorize-credential";

type Outcome = "ALLOWED" | "REFUSED" | "FAILED";

/**
 * API key → policy and context. API Gateway answers 401 if the error's message is exactly `Unauthorized`, and 500 to
 * any other error.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export const handler = async (
  event: Pick<APIGatewayTokenAuthorizerEvent, "authorizationToken" | "methodArn">,
  context?: Pick<Context, "awsRequestId">,
): Promise<APIGatewayAuthorizerResult> => {
  const startedAt = now();
  const environment = takeEnvironment();
  const record = (outcome: Outcome, decided: object = {}): void => {
    count("requests", { endpoint: FOLDER, outcome });
    const line = {
      endpoint: FOLDER,
      invocation: context?.awsRequestId,
      ...decided,
      outcome,
      milliseconds: now() - startedAt,
      ...environment,
      peakMegabytes: peakMegabytes(),
    };
    if (outcome === "FAILED") logger.error("authorization", line);
    else logger.info("authorization", line);
  };

  const decision = await authorize(event.authorizationToken).catch((error: unknown) => {
    record("FAILED", { error: safely(error) });
    throw new Error("Internal error");
  });
  if (decision.outcome === "refused") {
    record("REFUSED", { because: decision.because });
    throw unauthorized();
  }
  record("ALLOWED", { application: decision.applicationIdentifier, keyIdentifier: decision.keyIdentifier });
  return policyFor(decision, event.methodArn);
};
