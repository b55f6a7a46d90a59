import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { createMovedClock, type MovedClock } from "../clock/moved-clock.ts";
import { authorizersOf } from "./authorizer.ts";
import { functionsOf, stopAll, type FunctionsOptions } from "../lambda/functions.ts";
import type { InvocationResult } from "../lambda/pool.ts";
import { GatewayError, gatewayResponsesOf, type ContextVariables } from "./error.ts";
import { LocalError } from "../local-error.ts";
import { proxyEvent, type Exchange } from "./proxy-event.ts";
import { compressed, readProxyResponse, type ProxyAnswer } from "./proxy-response.ts";
import { createRequestLog, type RequestLog } from "./request-log.ts";
import { readBody } from "./request-body.ts";
import { createRouter, routesOf, type Route } from "./routes.ts";
import { ACCOUNT, Template } from "../lambda/template.ts";

export interface GatewayOptions extends FunctionsOptions {
  /** Clock of the functions and of the authorizers' caches; unset: real time. */
  readonly clock?: MovedClock;
  /** Receives a readable line for each request: method, path, status, milliseconds, and why it was refused. */
  readonly onRequest?: (line: string) => void;
}

const restApi = z.object({
  MinimumCompressionSize: z.number().optional(),
  BinaryMediaTypes: z.tuple([]).optional(),
});

const stage = z.object({ StageName: z.string(), Variables: z.record(z.string(), z.never()).optional() });

const API_ID = "local";

const onlyOne = <T>(type: string, resources: ReadonlyMap<string, T>): readonly [id: string, T] => {
  const [first, ...others] = resources;
  if (first === undefined || others.length > 0)
    throw new LocalError(`The template must have one ${type}; it has ${resources.size}.`);
  return first;
};

/** Also passes the functions' lines to the request log; those about failures are on standard error. */
const alsoTo =
  (requests: RequestLog, write: ((line: string) => void) | undefined) =>
  (line: string): void => {
    requests.take(line);
    write?.(line);
  };

/** Ids under which functions may have logged the request's outcome. A refusal of the gateway's own has none. */
const writtenUnder = (exchange: Exchange, error: GatewayError | null): readonly string[] => {
  if (error === null) return [exchange.requestId];
  return error.invocation === null ? [] : [error.invocation];
};

/** Result of the invocation, or an error after API Gateway's timeout. The function keeps running. */
const withinTimeout = async (
  invocation: Promise<InvocationResult>,
  milliseconds: number,
): Promise<InvocationResult> => {
  const answered = new AbortController();
  try {
    return await Promise.race([
      invocation,
      sleep(milliseconds, undefined, { signal: answered.signal }).then(() => {
        throw new GatewayError("INTEGRATION_TIMEOUT");
      }),
    ]);
  } finally {
    answered.abort();
  }
};

const singleHeader =
  ({ rawHeaders }: IncomingMessage) =>
  (name: string): string | undefined => {
    const values = rawHeaders.filter(
      (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name.toLowerCase(),
    );
    return values.at(-1);
  };

export type Gateway = ReturnType<typeof createGateway>;

/**
 * Serves the REST API of a synthesized template as API Gateway does. Routes, authorizers, gateway responses, compression,
 * timeouts and functions come from the template.
 *
 * @throws LocalError if the template contains something unsupported
 */
export const createGateway = (options: GatewayOptions) => {
  const template = new Template(options.assembly.document, options);
  const [, api] = onlyOne("REST API", template.resourcesOf("AWS::ApiGateway::RestApi", restApi));
  const [, { StageName }] = onlyOne("stage", template.resourcesOf("AWS::ApiGateway::Stage", stage));
  const { clock = createMovedClock(), onRequest } = options;
  const requests = onRequest === undefined ? null : createRequestLog(onRequest);
  const streams: GatewayOptions =
    requests === null
      ? options
      : { ...options, log: alsoTo(requests, options.log), output: alsoTo(requests, options.output) };
  let functions = functionsOf(template, streams, clock);
  let authorizers = authorizersOf(template, functions, clock);
  const respondTo = gatewayResponsesOf(template);
  const findRoute = createRouter(routesOf(template));

  const authorized = async (exchange: Exchange, { authorizerId }: Route) => {
    if (authorizerId === null) return null;
    const authorize = authorizers.get(authorizerId);
    if (!authorize) throw new LocalError(`The template has no authorizer ${authorizerId}.`);
    const resource = `${API_ID}/${exchange.stage}/${exchange.method}${exchange.path}`;
    return authorize(
      singleHeader(exchange.request),
      `arn:aws:execute-api:${options.region}:${ACCOUNT}:${resource}`,
    );
  };

  const answer = async (exchange: Exchange): Promise<ProxyAnswer> => {
    const match = findRoute(exchange.method, exchange.path);
    if (!match) throw new GatewayError("MISSING_AUTHENTICATION_TOKEN");
    const authorizer = await authorized(exchange, match.route);
    const body = await readBody(exchange.request, api.MinimumCompressionSize !== undefined);
    const pool = functions.get(match.route.functionId);
    if (!pool) throw new LocalError(`The template has no function ${match.route.functionId}.`);
    const result = await withinTimeout(
      pool.invoke(proxyEvent(exchange, match, authorizer, body)),
      match.route.integrationTimeout,
    );
    if (result.status === "event-too-large") throw new GatewayError("REQUEST_TOO_LARGE");
    if (result.status === "failed") throw new GatewayError("DEFAULT_5XX");
    return readProxyResponse(result.payload);
  };

  const refusal = (known: GatewayError, exchange: Exchange): ProxyAnswer => {
    if (known.cause !== undefined && known.type.endsWith("5XX")) options.log(String(known.cause));
    const variables: ContextVariables = {
      requestId: exchange.requestId,
      extendedRequestId: exchange.extendedRequestId,
      httpMethod: exchange.method,
      path: exchange.path,
      stage: exchange.stage,
      apiId: exchange.apiId,
      "identity.sourceIp": exchange.sourceIp,
    };
    const { body, ...rest } = respondTo(known, variables);
    return { ...rest, body: Buffer.from(body) };
  };

  return {
    handle: async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const [path = "", query = ""] = (request.url ?? "").split(/\?(.*)/s, 2);
      const exchange: Exchange = {
        request,
        method: request.method ?? "",
        path,
        query,
        requestId: randomUUID(),
        extendedRequestId: randomBytes(11).toString("base64url"),
        receivedAt: new Date(clock.now()),
        sourceIp: request.socket.remoteAddress ?? "",
        apiId: API_ID,
        stage: StageName,
      };
      const began = performance.now();
      const { answered, error } = await answer(exchange).then(
        (answered) => ({ answered, error: null }),
        (thrown: unknown) => {
          const error =
            thrown instanceof GatewayError ? thrown : new GatewayError("DEFAULT_5XX", { cause: thrown });
          return { answered: refusal(error, exchange), error };
        },
      );
      requests?.answered({
        method: exchange.method,
        path: exchange.path,
        status: answered.status,
        milliseconds: performance.now() - began,
        writtenUnder: writtenUnder(exchange, error),
        refusal: answered.status >= 400 ? answered.body.toString("utf8") : null,
        because: error?.because ?? null,
      });
      const { status, headers, body } =
        error === null
          ? await compressed(answered, request.headers["accept-encoding"], api.MinimumCompressionSize)
          : answered;
      if (response.destroyed) return;
      response.statusCode = status;
      for (const [name, value] of headers) response.appendHeader(name, value);
      response.setHeader("x-amzn-RequestId", exchange.requestId);
      response.setHeader("x-amz-apigw-id", exchange.extendedRequestId);
      response.end(body);
      // Drains the rest of a refused body, without which the connection cannot be reused.
      request.resume();
    },
    /**
     * Invokes a function directly, as a schedule does. `name` is the beginning of its logical id.
     *
     * @param invocation.logsFailure whether the reason of a failure is logged; default: true
     */
    invoke: async (
      name: string,
      invocation?: { readonly logsFailure?: boolean },
    ): Promise<InvocationResult> => {
      const [, pool] = [...functions].find(([id]) => id.startsWith(name)) ?? [];
      if (!pool) throw new LocalError(`The template has no function ${name}.`);
      return pool.invoke({}, invocation);
    },
    /** Replaces all environments and forgets the cached policies. Running invocations are ended. */
    renew: async (): Promise<void> => {
      const before = functions;
      functions = functionsOf(template, streams, clock);
      authorizers = authorizersOf(template, functions, clock);
      await stopAll(before);
    },
    /** Stops the functions' environments. */
    stop: async (): Promise<void> => {
      await stopAll(functions);
      requests?.end();
    },
  };
};
