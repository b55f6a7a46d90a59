import type { APIGatewayAuthorizerResult, APIGatewayTokenAuthorizerEvent } from "aws-lambda";
import { composeAuthorize, openTable } from "../../lib/service.ts";
import { now, requiredVariable } from "../configuration.ts";
import { logger, safely } from "../logger.ts";
import { policyFor } from "./policy.ts";

const authorize = composeAuthorize({ table: openTable(requiredVariable("TABLE_NAME")), now });

/**
 * API key → policy and context. API Gateway answers 401 to the error `Unauthorized`, by its exact message, and 500 to
 * any other.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export const handler = async (
  event: Pick<APIGatewayTokenAuthorizerEvent, "authorizationToken" | "methodArn">,
): Promise<APIGatewayAuthorizerResult> => {
  const decision = await authorize(event.authorizationToken).catch((error: unknown) => {
    logger.error("authorization failed", { error: safely(error) });
    throw new Error("Internal error");
  });
  if (decision.outcome === "refused") throw new Error("Unauthorized");
  return policyFor(decision, event.methodArn);
};
