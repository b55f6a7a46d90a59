import * as z from "zod";
import { functionIdIn, type Assembly } from "../lambda/assembly.ts";

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

export interface RouteMatch {
  readonly route: Route;
  /** Percent-encoded, as sent; null if the path has none. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

/** Method and path match together: a resource without the method does not hide one that has it. */
export const findRoute = (routes: readonly Route[], method: string, path: string): RouteMatch | null => {
  for (const route of routes) {
    const match = route.method === method ? route.pattern.exec(path) : null;
    if (match) return { route, pathParameters: match.groups ? { ...match.groups } : null };
  }
  return null;
};
