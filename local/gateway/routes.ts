import * as z from "zod";
import { LocalError } from "../local-error.ts";
import type { Template } from "../lambda/template.ts";

/** A method on a resource. */
export interface Route {
  readonly method: string;
  /** The resource's path, with parameters in braces. */
  readonly resourcePath: string;
  readonly resourceId: string;
  /** Logical id of the integrated function. */
  readonly functionId: string;
  /** In milliseconds. */
  readonly integrationTimeout: number;
  /** Logical id of the authorizer; null without one. */
  readonly authorizerId: string | null;
}

export interface RouteMatch {
  readonly route: Route;
  /** Percent-encoded, as sent; null if the path has none. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

const resource = z.object({
  ParentId: z.string(),
  PathPart: z.string().regex(/^(?:[^{}]+|\{\w+\})$/, "must be a fixed segment or a parameter of one segment"),
});

// Strict: a property that changes a method's behaviour and is not supported here must not be ignored silently.
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

/** Logical id of the function in API Gateway's invocation URI. */
export const functionIdIn = (uri: string): string => {
  const id = /\/functions\/arn:[^/]*:function:([^/:]+)\/invocations$/.exec(uri)?.[1];
  if (id === undefined) throw new LocalError(`${uri} is not a function's invocation URI.`);
  return id;
};

const parameterOf = (segment: string): string | null => /^\{(\w+)\}$/.exec(segment)?.[1] ?? null;

const segmentsOf = (path: string): string[] => path.split("/").slice(1);

const parametersOf = (route: Route, segments: readonly string[]): Record<string, string> | null => {
  const pattern = segmentsOf(route.resourcePath);
  if (pattern.length !== segments.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const parameter = parameterOf(part);
    if (parameter === null ? part !== segment : segment === "") return null;
    if (parameter !== null) parameters[parameter] = segment;
  }
  return parameters;
};

/** Sort key of a route: fixed segments before parameters, from the left. */
const specificity = ({ resourcePath }: Route): string =>
  segmentsOf(resourcePath)
    .map((segment) => (parameterOf(segment) === null ? "0" : "1"))
    .join("");

export const routesOf = (template: Template): Route[] => {
  const resources = template.resourcesOf("AWS::ApiGateway::Resource", resource);
  const pathOf = (id: string): string => {
    const found = resources.get(id);
    return found ? `${pathOf(found.ParentId)}/${found.PathPart}` : "";
  };
  return [...template.resourcesOf("AWS::ApiGateway::Method", method).values()].map(
    ({ HttpMethod, ResourceId, Integration, AuthorizationType, AuthorizerId }) => ({
      method: HttpMethod,
      resourcePath: pathOf(ResourceId) || "/",
      resourceId: ResourceId,
      functionId: functionIdIn(Integration.Uri),
      integrationTimeout: Integration.TimeoutInMillis,
      authorizerId: AuthorizationType === "CUSTOM" ? (AuthorizerId ?? null) : null,
    }),
  );
};

/**
 * Finds the route of a request as a REST API does:
 *
 * - Method and path match together, so that a resource without the method does not hide one that has it.
 * - Fixed segments take precedence over parameters.
 * - Segments are compared as sent, not decoded.
 * - One trailing slash is ignored.
 */
export const createRouter = (
  routes: readonly Route[],
): ((method: string, path: string) => RouteMatch | null) => {
  const ordered = [...routes].sort((a, b) => specificity(a).localeCompare(specificity(b)));
  return (method, path) => {
    const segments = segmentsOf(path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path);
    for (const route of ordered) {
      const parameters = route.method === method ? parametersOf(route, segments) : null;
      if (parameters)
        return { route, pathParameters: Object.keys(parameters).length > 0 ? parameters : null };
    }
    return null;
  };
};
