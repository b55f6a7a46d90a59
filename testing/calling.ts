import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import type * as z from "zod/mini";
import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";
import { errorBody, ServiceError, type ErrorBody } from "../lib/contract/errors.ts";
import { allows, policyDocument } from "../local/gateway/authorizer.ts";
import { proxyEvent } from "../local/gateway/request.ts";

/** A request to an endpoint, before the gateway. */
export interface EndpointRequest {
  /** Path parameters by name, as they are: they are percent-encoded here. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is, bytes in base64; unset: there is none. */
  readonly body?: unknown;
}

const bodyOf = (body: unknown): Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded"> => {
  if (body === undefined || body === null) return { body: null, isBase64Encoded: false };
  if (body instanceof Uint8Array)
    return { body: Buffer.from(body).toString("base64"), isBase64Encoded: true };
  return { body: typeof body === "string" ? body : JSON.stringify(body), isBase64Encoded: false };
};

/**
 * The event that API Gateway sends to an endpoint's function: the local gateway makes its events with the same code.
 *
 * @param authorizer context from the authorizer: `{ applicationIdentifier, keyIdentifier }`; null: it was not asked
 * @param changes fields to override, with valid or invalid values
 */
export const apiGatewayEvent = (
  name: EndpointName,
  { path: given = {}, query, headers = {}, body }: EndpointRequest = {},
  authorizer: Readonly<Record<string, string>> | null = null,
  changes: Partial<APIGatewayProxyEvent> = {},
): APIGatewayProxyEvent => {
  const { method, path: resourcePath } = endpoints[name];
  const pathParameters: Record<string, string> = {};
  const path = resourcePath.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = given[parameter];
    if (value === undefined) throw new Error(`${name} needs the path parameter ${parameter}.`);
    return (pathParameters[parameter] = encodeURIComponent(value));
  });
  const host = "localhost";
  const type = body !== undefined && { "Content-Type": "application/json" };
  const exchange = {
    request: {
      rawHeaders: Object.entries({ Host: host, ...type, ...headers }).flat(),
      headers: { host },
      httpVersion: "1.1",
      socket: {},
    },
    method,
    path,
    query: new URLSearchParams(query).toString(),
    requestId: randomUUID(),
    extendedRequestId: randomBytes(11).toString("base64url"),
    receivedAt: new Date(),
    sourceIp: "127.0.0.1",
    apiId: "test",
    stage: "test",
  };
  const match = {
    route: { resourceId: name, resourcePath },
    pathParameters: Object.keys(pathParameters).length > 0 ? pathParameters : null,
  };
  return { ...proxyEvent(exchange, match, authorizer, null), ...bodyOf(body), ...changes };
};

const FOLDERS = { endpoint: "endpoints", schedule: "schedules" } as const;
type FunctionKind = keyof typeof FOLDERS;

/** Names of the functions of a kind: their files. */
export const functionsOf = (kind: FunctionKind): string[] =>
  readdirSync(new URL(`../functions/${FOLDERS[kind]}/`, import.meta.url)).map((file) =>
    basename(file, ".ts"),
  );

/**
 * The handler of an endpoint's or a schedule's function. It is loaded on first use and then reads its environment, as
 * in Lambda.
 *
 * @throws naming the existing functions, if there is no such function
 */
export const handlerOf = async (kind: FunctionKind, name: string) => {
  const known = functionsOf(kind);
  if (!known.includes(name)) throw new Error(`There is no ${kind} ${name}; there are: ${known.join(", ")}.`);
  const module: { readonly handler: (event: unknown, context: Context) => Promise<unknown> } = await import(
    `../functions/${FOLDERS[kind]}/${name}.ts`
  );
  return module.handler;
};

/** @throws as {@link handlerOf} does */
export const invokeFunction = async (kind: FunctionKind, name: string, event: unknown): Promise<unknown> => {
  const handler = await handlerOf(kind, name);
  return handler(event, {
    awsRequestId: randomUUID(),
    callbackWaitsForEmptyEventLoop: true,
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${name}`,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: "test",
    memoryLimitInMB: "1024",
    getRemainingTimeInMillis: () => 60_000,
    done: () => undefined,
    fail: () => undefined,
    succeed: () => undefined,
  });
};

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
): Promise<APIGatewayProxyResult> =>
  (await invokeFunction("endpoint", endpoints[name].function, event)) as APIGatewayProxyResult;

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
  const [, authorizationToken] =
    Object.entries(headers).find(([header]) => header.toLowerCase() === "authorization") ?? [];
  if (authorizationToken === undefined) throw new ServiceError("INVALID_CREDENTIAL");
  const { handler } = await import("../functions/authorize-credential.ts");
  const methodArn = `${API}/${method}${path}`;
  const result = await handler({ authorizationToken, methodArn }).catch((error: unknown) => {
    const isRefusal = error instanceof Error && error.message === "Unauthorized";
    throw isRefusal ? new ServiceError("INVALID_CREDENTIAL") : error;
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
