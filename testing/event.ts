import { randomBytes, randomUUID } from "node:crypto";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { proxyEvent, type ProxiedRequest } from "../local/gateway/proxy-event.ts";

/** A request to an endpoint, before the gateway. */
export interface EndpointRequest {
  /** Path parameters by name, as they are: they are percent-encoded here. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is, bytes in base64; unset: there is none. */
  readonly body?: unknown;
}

const HOST = "localhost";

const bodyOf = (body: unknown): Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded"> => {
  if (body === undefined || body === null) return { body: null, isBase64Encoded: false };
  if (body instanceof Uint8Array)
    return { body: Buffer.from(body).toString("base64"), isBase64Encoded: true };
  return { body: typeof body === "string" ? body : JSON.stringify(body), isBase64Encoded: false };
};

const requestOf = ({ headers = {}, body }: EndpointRequest): ProxiedRequest => {
  const sent = {
    Host: HOST,
    ...(body !== undefined && { "Content-Type": "application/json" }),
    ...headers,
  };
  return {
    rawHeaders: Object.entries(sent).flat(),
    headers: { host: HOST },
    httpVersion: "1.1",
    socket: {},
  };
};

const encodedParameters = (
  name: EndpointName,
  given: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(
    [...endpoints[name].path.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => {
      const value = given[parameter];
      if (value === undefined) throw new Error(`${name} needs the path parameter ${parameter}.`);
      return [parameter, encodeURIComponent(value)];
    }),
  );

/**
 * The event that API Gateway sends to an endpoint's function: the local gateway makes its events with the same code.
 *
 * @param authorizer context from the authorizer: `{ applicationIdentifier, keyIdentifier }`; null: it was not asked
 * @param changes fields to override, with valid or invalid values
 */
export const apiGatewayEvent = (
  name: EndpointName,
  request: EndpointRequest = {},
  authorizer: Readonly<Record<string, string>> | null = null,
  changes: Partial<APIGatewayProxyEvent> = {},
): APIGatewayProxyEvent => {
  const { method, path: resourcePath } = endpoints[name];
  const parameters = encodedParameters(name, request.path ?? {});
  const path = resourcePath.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => parameters[parameter] ?? "");
  const exchange = {
    request: requestOf(request),
    method,
    path,
    query: new URLSearchParams(request.query).toString(),
    requestId: randomUUID(),
    extendedRequestId: randomBytes(11).toString("base64url"),
    receivedAt: new Date(),
    sourceIp: "127.0.0.1",
    apiId: "test",
    stage: "test",
  };
  const match = {
    route: { resourceId: name, resourcePath },
    pathParameters: Object.keys(parameters).length > 0 ? parameters : null,
  };
  return { ...proxyEvent(exchange, match, authorizer, null), ...bodyOf(request.body), ...changes };
};
