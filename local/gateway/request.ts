import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod";
import { ACCOUNT, functionIdIn, type Assembly } from "../lambda/assembly.ts";

const resource = z.object({
  ParentId: z.string(),
  PathPart: z
    .string()
    .regex(/^(?:[\w.-]+|\{\w+\})$/, "must be a fixed segment or a parameter of one segment"),
});

// Strict: a property that is not supported must not be ignored silently.
const method = z.strictObject({
  RestApiId: z.string(),
  ResourceId: z.string(),
  HttpMethod: z.enum(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]),
  AuthorizationType: z.enum(["NONE", "CUSTOM"]),
  AuthorizerId: z.string().optional(),
  OperationName: z.string().optional(),
  Integration: z.strictObject({
    Type: z.literal("AWS_PROXY"),
    IntegrationHttpMethod: z.literal("POST"),
    TimeoutInMillis: z.number().default(29_000),
    Uri: z.string(),
  }),
});

/** Matches a path as it was sent, not decoded. One trailing slash is ignored. */
const patternOf = (resourcePath: string): RegExp =>
  new RegExp(`^${resourcePath.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}/?$`);

export type Route = ReturnType<typeof routesOf>[number];

/** The methods of the API's resources, in the order in which a REST API matches: fixed segments before parameters. */
export const routesOf = (assembly: Assembly) => {
  const resources = assembly.resourcesOf("AWS::ApiGateway::Resource", resource);
  const pathOf = (id: string): string => {
    const found = resources.get(id);
    return found ? `${pathOf(found.ParentId)}/${found.PathPart}` : "";
  };
  return [...assembly.resourcesOf("AWS::ApiGateway::Method", method).values()]
    .map(({ HttpMethod, ResourceId, Integration, AuthorizationType }) => ({
      method: HttpMethod,
      resourcePath: pathOf(ResourceId),
      pattern: patternOf(pathOf(ResourceId)),
      resourceId: ResourceId,
      functionId: functionIdIn(Integration.Uri),
      integrationTimeoutMilliseconds: Integration.TimeoutInMillis,
      isAuthorized: AuthorizationType === "CUSTOM",
    }))
    .toSorted((a, b) => (a.resourcePath < b.resourcePath ? -1 : 1));
};

interface RouteMatch {
  readonly route: Route;
  /** Percent-encoded, as sent; null if the path has none. */
  readonly pathParameters: Record<string, string> | null;
}

/** Method and path match together: a resource without the method does not hide one that has it. */
export const findRoute = (routes: readonly Route[], method: string, path: string): RouteMatch | null => {
  for (const route of routes) {
    const match = route.method === method ? route.pattern.exec(path) : null;
    if (match) return { route, pathParameters: match.groups ? { ...match.groups } : null };
  }
  return null;
};

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
    pathParameters,
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
