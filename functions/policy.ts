import type { APIGatewayAuthorizerResult } from "aws-lambda";
import type { Decision } from "../lib/applications/authorize.ts";
import { endpoints, type Endpoint } from "../lib/contract/endpoints.ts";

type Authorized = Extract<Decision, { outcome: "authorized" }>;

/** `arn:…:<api>/<stage>`, which every route of the stage begins with. */
const stageOf = (methodArn: string): string => methodArn.split("/").slice(0, 2).join("/");

const routeOf = ({ method, path }: Endpoint): string => `${method}${path.replace(/\{\w+\}/g, "*")}`;

/**
 * The policy allows **every** route of the key's scopes, not only the one that was asked for: API Gateway caches it by
 * key, and uses it for the next request to another route too.
 *
 * @param methodArn the route that was asked for; the others are on the same stage
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
    context: { applicationIdentifier, keyIdentifier },
  };
};
