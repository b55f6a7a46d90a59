import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Route, RouteMatch } from "./routes.ts";
import { ACCOUNT } from "../lambda/assembly.ts";

/** Headers that the gateway does not pass on. */
const NOT_PASSED_ON =
  /^(?:connection|content-length|expect|keep-alive|proxy-auth\w+|te|trailer|transfer-encoding|upgrade)$/i;

/** Parts of a request that its event has. */
export interface ProxiedRequest {
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  readonly headers: { readonly host?: string | undefined; readonly "user-agent"?: string | undefined };
  readonly httpVersion: string;
  readonly socket: { readonly localPort?: number | undefined };
}

/** A request, and what the gateway knows about it. */
export interface Exchange {
  readonly request: ProxiedRequest;
  readonly method: string;
  /** Percent-encoded, as sent. */
  readonly path: string;
  readonly query: string;
  readonly requestId: string;
  readonly extendedRequestId: string;
  readonly receivedAt: Date;
  readonly sourceIp: string;
  readonly apiId: string;
  readonly stage: string;
}

/** Groups values by name. */
const gather = (pairs: Iterable<readonly [name: string, value: string]>): Record<string, string[]> =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([name]) => name)].map(([name, found]) => [name, found.map(([, value]) => value)]),
  );

/** Keeps the last value of each name. */
const lastOf = (gathered: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(gathered).map(([name, values]) => [name, values.at(-1) ?? ""]));

const headersOf = ({ request, sourceIp }: Exchange): Record<string, string[]> => {
  const { rawHeaders } = request;
  const sent = rawHeaders
    .flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""] as const] : []))
    .filter(([name]) => !NOT_PASSED_ON.test(name));
  return gather([
    ...sent,
    ["X-Forwarded-For", sourceIp],
    ["X-Forwarded-Port", String(request.socket.localPort ?? "")],
    ["X-Forwarded-Proto", "http"],
  ]);
};

const queryOf = (query: string): Record<string, string[]> | null => {
  const parameters = [...new URLSearchParams(query)] as [string, string][];
  return parameters.length > 0 ? gather(parameters) : null;
};

/** Time in Common Log Format: `09/Apr/2026:12:34:56 +0000`. */
const logTime = (time: Date): string =>
  time.toUTCString().replace(/^\w+, (\d+) (\w+) (\d+) (\S+) GMT$/, "$1/$2/$3:$4 +0000");

/**
 * Event of Lambda's proxy integration with a REST API. As behind a custom domain, the path does not contain the stage.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 */
export const proxyEvent = (
  exchange: Exchange,
  {
    route,
    pathParameters,
  }: Pick<RouteMatch, "pathParameters"> & {
    readonly route: Pick<Route, "resourceId" | "resourcePath">;
  },
  authorizer: Readonly<Record<string, string | number>> | null,
  body: string | null,
): APIGatewayProxyEvent => {
  const headers = headersOf(exchange);
  const query = queryOf(exchange.query);
  const host = exchange.request.headers.host ?? "";
  return {
    resource: route.resourcePath,
    path: exchange.path,
    httpMethod: exchange.method,
    headers: lastOf(headers),
    multiValueHeaders: headers,
    queryStringParameters: query && lastOf(query),
    multiValueQueryStringParameters: query,
    pathParameters: pathParameters && { ...pathParameters },
    stageVariables: null,
    requestContext: {
      resourceId: route.resourceId,
      resourcePath: route.resourcePath,
      httpMethod: exchange.method,
      extendedRequestId: exchange.extendedRequestId,
      requestTime: logTime(exchange.receivedAt),
      path: exchange.path,
      accountId: ACCOUNT,
      protocol: `HTTP/${exchange.request.httpVersion}`,
      stage: exchange.stage,
      domainPrefix: host.split(/[.:]/, 1)[0] ?? "",
      requestTimeEpoch: exchange.receivedAt.getTime(),
      requestId: exchange.requestId,
      identity: {
        cognitoIdentityPoolId: null,
        accountId: null,
        cognitoIdentityId: null,
        caller: null,
        sourceIp: exchange.sourceIp,
        principalOrgId: null,
        accessKey: null,
        cognitoAuthenticationType: null,
        cognitoAuthenticationProvider: null,
        userArn: null,
        userAgent: exchange.request.headers["user-agent"] ?? null,
        user: null,
        apiKey: null,
        apiKeyId: null,
        clientCert: null,
      },
      domainName: host,
      apiId: exchange.apiId,
      // Absent where the route has no authorizer.
      authorizer: authorizer ?? undefined,
    },
    body,
    isBase64Encoded: false,
  };
};
