import type { IncomingHttpHeaders } from "node:http";
import * as z from "zod";
import { createLoadingCache } from "../../lib/loading-cache.ts";
import type { MovedClock } from "../clock/moved-clock.ts";
import { functionIdIn, type Assembly } from "../lambda/assembly.ts";
import type { functionsOf } from "../lambda/functions.ts";
import { GatewayError } from "./answer.ts";
import { becauseIn } from "./request-log.ts";

const statement = z.strictObject({
  Effect: z.enum(["Allow", "Deny"]),
  Action: z.literal("execute-api:Invoke"),
  Resource: z.union([z.string().transform((value) => [value]), z.array(z.string())]),
});

/** An authorizer's policy, as far as the service's authorizer makes it. */
export const policyDocument = z.object({ Statement: z.array(statement) });

/** `*` matches any characters, including slashes. */
const matches = (pattern: string, value: string): boolean => {
  const escaped = pattern.replaceAll(/[.?+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*")}$`, "s").test(value);
};

/**
 * Whether the policy allows a method: a statement allows it and none denies it.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export const allows = ({ Statement }: z.infer<typeof policyDocument>, methodArn: string): boolean => {
  const matching = Statement.filter(({ Resource }) => Resource.some((one) => matches(one, methodArn)));
  return matching.length > 0 && matching.every(({ Effect }) => Effect === "Allow");
};

const tokenAuthorizer = z.strictObject({
  RestApiId: z.string(),
  Name: z.string(),
  Type: z.literal("TOKEN"),
  AuthorizerUri: z.string(),
  AuthorizerResultTtlInSeconds: z.number(),
  IdentitySource: z.string().regex(/^method\.request\.header\./),
  IdentityValidationExpression: z.string(),
});

const authorizerResult = z.object({
  principalId: z.string(),
  policyDocument,
  context: z.record(z.string(), z.string()),
});

const KEPT_POLICIES = 10_000;

/**
 * The template's token authorizer, which rejects with a GatewayError. A policy is cached by token for the template's TTL
 * and applies to every route; a refusal is not cached.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
 */
export const authorizerOf = (
  assembly: Assembly,
  functions: ReturnType<typeof functionsOf>,
  clock: MovedClock,
) => {
  const properties = assembly.onlyResource("AWS::ApiGateway::Authorizer", tokenAuthorizer);
  const header = properties.IdentitySource.replace("method.request.header.", "");
  const valid = new RegExp(properties.IdentityValidationExpression);
  const authorizer = functions.find(functionIdIn(properties.AuthorizerUri));

  const ask = async ({ token, methodArn }: { readonly token: string; readonly methodArn: string }) => {
    let because: string | undefined;
    const event = { type: "TOKEN", authorizationToken: token, methodArn };
    const invocation = await authorizer.invoke(event, {
      onLine: (text) => (because = becauseIn(text) ?? because),
    });
    if (invocation.status !== "succeeded") {
      // The message by which an authorizer refuses a token.
      const isRefusal = invocation.status === "failed" && invocation.errorMessage === "Unauthorized";
      throw new GatewayError(
        isRefusal ? "UNAUTHORIZED" : "AUTHORIZER_FAILURE",
        because === undefined ? {} : { because },
      );
    }
    const parsed = authorizerResult.safeParse(invocation.payload);
    if (!parsed.success) throw new GatewayError("AUTHORIZER_CONFIGURATION_ERROR", { cause: parsed.error });
    return parsed.data;
  };

  const results = createLoadingCache({
    load: ask,
    now: () => performance.now() + clock.offset(),
    maximumAgeMilliseconds: properties.AuthorizerResultTtlInSeconds * 1000,
    maximumEntries: KEPT_POLICIES,
    textOf: ({ token }) => token,
  });

  /** @returns `requestContext.authorizer` of the function's event */
  return async (headers: IncomingHttpHeaders, methodArn: string) => {
    const token = headers[header.toLowerCase()]?.toString();
    if (!token || !valid.test(token)) {
      const because = token
        ? `the header ${header} is not Bearer and a whole API key`
        : `there is no header ${header}`;
      throw new GatewayError("UNAUTHORIZED", { because });
    }
    const asked = performance.now();
    const result = await results.get({ token, methodArn });
    if (result === null) throw new GatewayError("AUTHORIZER_FAILURE");
    const { principalId, policyDocument, context } = result;
    if (!allows(policyDocument, methodArn)) throw new GatewayError("ACCESS_DENIED", { context });
    const integrationLatency = Math.round(performance.now() - asked);
    return { ...context, principalId, integrationLatency };
  };
};
