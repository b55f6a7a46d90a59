import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { within } from "../../lib/pause.ts";
import { createMovedClock, type MovedClock } from "../clock/moved-clock.ts";
import { ACCOUNT } from "../lambda/assembly.ts";
import { functionsOf, type FunctionsOptions, type InvocationResult } from "../lambda/functions.ts";
import { compressed, GatewayError, gatewayResponsesOf, readBody, type GatewayAnswer } from "./answer.ts";
import { authorizerOf } from "./authorizer.ts";
import { functionLineIn, requestText, type FunctionLine } from "./request-log.ts";
import { findRoute, proxyEvent, routesOf, type Exchange } from "./request.ts";

interface GatewayOptions extends FunctionsOptions {
  /** Clock of the functions and of the authorizers' caches; unset: real time. */
  readonly clock?: MovedClock;
  /** Receives a readable line for each request: method, path, status, milliseconds, and why it was refused. */
  readonly onRequest?: (line: string) => void;
}

const restApi = z.object({
  MinimumCompressionSize: z.number(),
  BinaryMediaTypes: z.tuple([]).optional(),
});

const stage = z.object({ StageName: z.string(), Variables: z.record(z.string(), z.never()).optional() });

/** A function's response, as the service's functions make it. */
const proxyResponse = z.strictObject({
  statusCode: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

const API_ID = "local";

const exchangeOf = (request: IncomingMessage, receivedAt: Date, stage: string): Exchange => {
  const [path = "", query = ""] = (request.url ?? "").split(/\?(.*)/s, 2);
  return {
    request,
    method: request.method ?? "",
    path,
    query,
    requestId: randomUUID(),
    extendedRequestId: randomBytes(11).toString("base64url"),
    receivedAt,
    sourceIp: request.socket.remoteAddress ?? "",
    apiId: API_ID,
    stage,
  };
};

export type Gateway = ReturnType<typeof createGateway>;

/**
 * Serves the REST API of a synthesized template as API Gateway does. Routes, authorizers, gateway responses, compression,
 * timeouts and functions come from the template.
 *
 * @throws LocalError if the template contains something unsupported
 */
export const createGateway = (options: GatewayOptions) => {
  const { assembly, clock = createMovedClock(), onRequest = () => undefined } = options;
  const { MinimumCompressionSize } = assembly.onlyResource("AWS::ApiGateway::RestApi", restApi);
  const { StageName } = assembly.onlyResource("AWS::ApiGateway::Stage", stage);
  let functions = functionsOf(options, clock);
  let authorize = authorizerOf(assembly, functions, clock);
  const respondTo = gatewayResponsesOf(assembly);
  const routes = routesOf(assembly);

  const authorized = async (headers: IncomingHttpHeaders, { method, path }: Exchange) => {
    const resource = `${API_ID}/${StageName}/${method}${path}`;
    return authorize(headers, `arn:aws:execute-api:${options.region}:${ACCOUNT}:${resource}`);
  };

  const answer = async (
    request: IncomingMessage,
    exchange: Exchange,
    onLine: (text: string) => void,
  ): Promise<GatewayAnswer> => {
    const match = findRoute(routes, exchange.method, exchange.path);
    if (!match) throw new GatewayError("MISSING_AUTHENTICATION_TOKEN");
    const authorizer = match.route.isAuthorized ? await authorized(request.headers, exchange) : null;
    const body = await readBody(request);
    const event = proxyEvent(exchange, match, authorizer, body);
    const invocation = functions.find(match.route.functionId).invoke(event, { onLine });
    // The function keeps running.
    const limit = AbortSignal.timeout(match.route.integrationTimeoutMilliseconds);
    const result = await within(limit, invocation).catch((cause: unknown) => {
      throw limit.aborted ? new GatewayError("INTEGRATION_TIMEOUT") : cause;
    });
    if (result.status === "event-too-large") throw new GatewayError("REQUEST_TOO_LARGE");
    if (result.status === "failed") throw new GatewayError("DEFAULT_5XX");
    const { statusCode, headers, body: text } = proxyResponse.parse(result.payload);
    return { status: statusCode, headers: Object.entries(headers), body: Buffer.from(text) };
  };

  return {
    handle: async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const began = performance.now();
      const exchange = exchangeOf(request, new Date(clock.now()), StageName);
      const { requestId, extendedRequestId, method, path } = exchange;
      let line: FunctionLine | null = null;
      let error: GatewayError | null = null;
      const onLine = (text: string): void => void (line = functionLineIn(text) ?? line);
      const answered = await answer(request, exchange, onLine).catch((thrown: unknown) => {
        error = thrown instanceof GatewayError ? thrown : new GatewayError("DEFAULT_5XX", { cause: thrown });
        const refusal = respondTo(error);
        if (error.cause !== undefined && refusal.status >= 500) options.log(String(error.cause));
        return refusal;
      });
      const milliseconds = performance.now() - began;
      onRequest(requestText({ method, path, milliseconds, error, answered, line }));
      const { status, headers, body } = await compressed(
        answered,
        request.headers["accept-encoding"],
        MinimumCompressionSize,
      );
      if (response.destroyed) return;
      response.statusCode = status;
      for (const [name, value] of headers) response.appendHeader(name, value);
      response.setHeader("x-amzn-RequestId", requestId);
      response.setHeader("x-amz-apigw-id", extendedRequestId);
      response.end(body);
      // Drains the rest of a refused body, without which the connection cannot be reused.
      request.resume();
    },
    /** Invokes a function directly, as a schedule does, by the beginning of its logical id. */
    invoke: async (name: string, options?: { readonly logsFailure?: boolean }): Promise<InvocationResult> =>
      functions.find(name).invoke({}, options),
    /** Replaces all environments and forgets the cached policies. Running invocations are ended. */
    renew: async (): Promise<void> => {
      const before = functions;
      functions = functionsOf(options, clock);
      authorize = authorizerOf(assembly, functions, clock);
      await before.stop();
    },
    /** Stops the functions' environments. */
    stop: async (): Promise<void> => functions.stop(),
  };
};
