import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import type * as z from "zod/mini";
import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type ErrorBody } from "../lib/contract/errors.ts";
import { allows, policyDocument } from "../local/gateway/policy.ts";
import { apiGatewayEvent, type EndpointRequest } from "./event.ts";
import { handlerOf, invocationContext } from "./functions.ts";

/** A request, as a caller sends it. */
export interface CalledRequest extends EndpointRequest {
  /** API key, sent as `Authorization: Bearer <key>`; unset: no header. */
  readonly key?: string;
}

/** The members of a success and of an error; `error` distinguishes the two. */
type AnswerBody<Name extends EndpointName> = Partial<
  z.output<ReturnType<(typeof endpoints)[Name]["response"]>>
> &
  Partial<ErrorBody>;

export interface Answer<Name extends EndpointName> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody<Name>;
}

/** Invokes an endpoint's handler with any event. */
export const invokeEndpoint = async (
  name: EndpointName,
  event: APIGatewayProxyEvent,
): Promise<APIGatewayProxyResult> => {
  const { function: file } = endpoints[name];
  const handler = await handlerOf("endpoint", file);
  return (await handler(event, invocationContext(file))) as APIGatewayProxyResult;
};

const answerOf = <Name extends EndpointName>({
  statusCode,
  headers = {},
  body,
}: APIGatewayProxyResult): Answer<Name> => ({
  status: statusCode,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  body: JSON.parse(body) as AnswerBody<Name>,
});

const API = "arn:aws:execute-api:us-east-1:123456789012:test/test";

/** An `Authorization` header, whatever its case. */
const authorizationOf = (headers: Readonly<Record<string, string>>): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];

const isRefusal = (error: unknown): boolean => error instanceof Error && error.message === "Unauthorized";

/**
 * Calls the authorizer's function, as the gateway does before an endpoint that has a scope. Unlike the gateway, it
 * caches nothing: a revoked key is refused at once.
 *
 * @returns the authorizer's context; null: it is not asked
 * @throws ServiceError with which the gateway refuses
 */
const authorize = async (
  name: EndpointName,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>> | null> => {
  const { method, scope }: Endpoint = endpoints[name];
  if (scope === null) return null;
  const authorizationToken = authorizationOf(headers);
  if (authorizationToken === undefined) throw new ServiceError("INVALID_CREDENTIAL");
  const { handler } = await import("../functions/authorize-credential.ts");
  const methodArn = `${API}/${method}${path}`;
  const result = await handler({ authorizationToken, methodArn }).catch((error: unknown) => {
    throw isRefusal(error) ? new ServiceError("INVALID_CREDENTIAL") : error;
  });
  if (!allows(policyDocument.parse(result.policyDocument), methodArn))
    throw new ServiceError("INSUFFICIENT_SCOPE");
  return Object.fromEntries(Object.entries(result.context ?? {}).map(([key, value]) => [key, String(value)]));
};

/**
 * Calls an endpoint: the authorizer's function where it has a scope, then its own.
 *
 * @throws naming the existing endpoints, if there is no such endpoint
 */
export const callEndpoint = async <Name extends EndpointName>(
  name: Name,
  { key, ...request }: CalledRequest,
): Promise<Answer<Name>> => {
  if (!Object.hasOwn(endpoints, name))
    throw new Error(`There is no endpoint ${name}; there are: ${Object.keys(endpoints).join(", ")}.`);
  const headers = { ...(key !== undefined && { Authorization: `Bearer ${key}` }), ...request.headers };
  const asked = { ...request, headers };
  try {
    const authorizer = await authorize(name, apiGatewayEvent(name, asked).path, headers);
    return answerOf(await invokeEndpoint(name, apiGatewayEvent(name, asked, authorizer)));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // The gateway's own answer.
    return answerOf({
      statusCode: error.status,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(errorBody(error)),
    });
  }
};
