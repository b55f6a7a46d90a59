import type { APIGatewayAuthorizerResult } from "aws-lambda";
import type { Decision } from "../../lib/applications/credential.ts";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";

type Authorized = Extract<Decision, { outcome: "authorized" }>;

/** `arn:…:<api>/<stage>`, the start of every route's ARN. */
const stageOf = (methodArn: string): string => methodArn.split("/").slice(0, 2).join("/");

const routeOf = ({ method, path }: Endpoint): string => `${method}${path.replace(/\{\w+\}/g, "*")}`;

/**
 * Allows **every** route of the key's scopes: API Gateway caches the policy by key and reuses it for other routes.
 *
 * @param methodArn ARN of the requested route; the others are on the same stage
 */
export const policyFor = (
  { applicationIdentifier, keyIdentifier, scopes }: Authorized,
  methodArn: string,
): APIGatewayAuthorizerResult => {
  const allowed = Object.values<Endpoint>(endpoints)
    .filter(({ scope }) => scope !== null && scopes.includes(scope))
    .map((endpoint) => `${stageOf(methodArn)}/${routeOf(endpoint)}`);
  return {
    principalId: keyIdentifier,
    policyDocument: {
      Version: "2012-10-17",
      Statement: [
        allowed.length > 0
          ? { Action: "execute-api:Invoke", Effect: "Allow", Resource: allowed }
          : { Action: "execute-api:Invoke", Effect: "Deny", Resource: `${stageOf(methodArn)}/*` },
      ],
    },
    context: {
      applicationIdentifier,
      keyIdentifier,
      // For the gateway's response to a route that the key may not use.
      scopes: scopes.join(", ") || "none",
    },
  };
};
