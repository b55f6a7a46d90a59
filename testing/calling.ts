import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import type * as z from "zod/mini";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type ErrorBody, type ErrorCode } from "../lib/contract/errors.ts";
import { authorize } from "./authorizer.ts";
import { apiGatewayEvent, type EndpointRequest } from "./event.ts";
import { handlerOf, invocationContext } from "./functions.ts";

/** A request, as a caller sends it. */
export interface CalledRequest extends EndpointRequest {
  /** API key, sent as `Authorization: Bearer <key>`; unset: no header. */
  readonly key?: string;
}

/** The members of a success and of an error; `error` distinguishes the two. */
export type AnswerBody<Name extends EndpointName> = Partial<
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

/** The gateway's own answer. */
const refusal = <Name extends EndpointName>(code: ErrorCode): Answer<Name> => {
  const error = new ServiceError(code);
  return {
    status: error.status,
    headers: { "Content-Type": "application/json" },
    body: errorBody(error) as AnswerBody<Name>,
  };
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
  const authorization = await authorize(name, apiGatewayEvent(name, asked).path, headers);
  if (authorization.outcome === "refused") return refusal(authorization.code);
  const context = endpoints[name].scope === null ? null : authorization.context;
  return answerOf(await invokeEndpoint(name, apiGatewayEvent(name, asked, context)));
};
