import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";
import type { ErrorCode } from "../lib/contract/errors.ts";
import { allows, policyDocument } from "../local/gateway/policy.ts";

/** Result of the authorizer: its context, or the code of the refusal. */
export type Authorization =
  | { readonly outcome: "authorized"; readonly context: Readonly<Record<string, string>> }
  | { readonly outcome: "refused"; readonly code: ErrorCode };

const API = "arn:aws:execute-api:us-east-1:123456789012:test/test";

/** An `Authorization` header, whatever its case. */
const authorizationOf = (headers: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];

const isRefusal = (error: unknown): boolean => error instanceof Error && error.message === "Unauthorized";

/**
 * Calls the authorizer's function, as the gateway does before an endpoint that has a scope. Unlike the gateway, it
 * caches nothing: a revoked key is refused at once.
 */
export const authorize = async (
  name: EndpointName,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Authorization> => {
  const { method, scope }: Endpoint = endpoints[name];
  if (scope === null) return { outcome: "authorized", context: {} };
  const authorizationToken = authorizationOf(headers);
  if (authorizationToken === undefined) return { outcome: "refused", code: "INVALID_CREDENTIAL" };
  const { handler } = await import("../functions/authorize-credential.ts");
  const methodArn = `${API}/${method}${path}`;
  try {
    const result = await handler({ authorizationToken, methodArn });
    if (!allows(policyDocument.parse(result.policyDocument), methodArn))
      return { outcome: "refused", code: "INSUFFICIENT_SCOPE" };
    const context = Object.entries(result.context ?? {}).map(([key, value]) => [key, String(value)]);
    return { outcome: "authorized", context: Object.fromEntries(context) };
  } catch (error) {
    if (isRefusal(error)) return { outcome: "refused", code: "INVALID_CREDENTIAL" };
    throw error;
  }
};
