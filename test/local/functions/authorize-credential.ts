import type { APIGatewayTokenAuthorizerEvent } from "aws-lambda";

let invocations = 0;

const policy = (Statement: unknown) => ({ Version: "2012-10-17", Statement });

const statement = (Effect: "Allow" | "Deny", Resource: string | string[]) => ({
  Action: "execute-api:Invoke",
  Effect,
  Resource,
});

/** The key identifier of the API key (`cek_<key identifier>_<secret>`) selects the answer. */
export const handler = async ({ authorizationToken, methodArn }: APIGatewayTokenAuthorizerEvent) => {
  invocations += 1;
  const api = methodArn.split("/").slice(0, 2).join("/");
  const allowed = {
    principalId: "somebody",
    policyDocument: policy([statement("Allow", `${api}/*`)]),
    context: { scopes: "moon:visit", invocations: String(invocations), methodArn, authorizationToken },
  };
  const allowing = (...Statement: unknown[]) => ({ ...allowed, policyDocument: policy(Statement) });
  switch (authorizationToken.split("_")[1]) {
    case "0000000000000001":
      throw new Error("Unauthorized");
    case "0000000000000002":
      throw new Error("The table is gone.");
    case "0000000000000003":
      return { principalId: "somebody" };
    case "0000000000000004":
      return allowing(statement("Allow", `${api}/GET/v1/customers/*/entitlements`));
    case "0000000000000005":
      return allowing(statement("Allow", `${api}/*`), statement("Deny", `${api}/POST/*/link`));
    case "0000000000000007":
      return { ...allowed, context: { nested: { not: "allowed" } } };
    default:
      return allowed;
  }
};
