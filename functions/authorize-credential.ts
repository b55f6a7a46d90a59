import type { APIGatewayAuthorizerResult, APIGatewayTokenAuthorizerEvent, Context } from "aws-lambda";
import { authorize } from "../lib/applications/credential.ts";
import { createFindCredential } from "../lib/table/applications/credentials.ts";
import { now } from "./environment/configuration.ts";
import { table } from "./environment/service.ts";
import { policyFor } from "./http/policy.ts";
import { beginInvocation } from "./observability/write-invocation.ts";

const findCredential = createFindCredential(table);

/** Without a stack, which Lambda would log. */
const unauthorized = (): Error => {
  const error = new Error("Unauthorized");
  error.stack = "";
  return error;
};

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
  const write = beginInvocation("authorization", "authorize-credential");
  const invocation = context?.awsRequestId;
  const decision = await authorize(event.authorizationToken, now(), findCredential).catch(
    (error: unknown) => {
      write({ invocation, outcome: "FAILED" }, error);
      throw new Error("Internal error");
    },
  );
  if (decision.outcome === "refused") {
    write({ invocation, because: decision.because, outcome: "REFUSED" });
    throw unauthorized();
  }
  const { applicationIdentifier: application, keyIdentifier } = decision;
  write({ invocation, application, keyIdentifier, outcome: "ALLOWED" });
  return policyFor(decision, event.methodArn);
};
