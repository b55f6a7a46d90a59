import * as z from "zod";
import { LocalError } from "../local-error.ts";
import type { Template } from "../template.ts";

/** A method of a resource. */
export interface Route {
  readonly method: string;
  /** The resource's path with its parameters in braces. */
  readonly resourcePath: string;
  readonly resourceId: string;
  /** The logical id of the function behind it. */
  readonly functionId: string;
  /** In milliseconds. */
  readonly integrationTimeout: number;
  /** The logical id of the authorizer; null where the method takes none. */
  readonly authorizerId: string | null;
}

export interface RouteMatch {
  readonly route: Route;
  /** As sent: percent-encoded. Null where the path has none. */
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

const resource = z.object({
  ParentId: z.string(),
  PathPart: z.string().regex(/^(?:[^{}]+|\{\w+\})$/, "must be a fixed segment or a parameter of one segment"),
});

// Strict: a property that changes what a method does, and that nothing here honours, must not pass unseen.
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

/** The function's logical id in the address by which API Gateway invokes it. */
export const functionIdIn = (uri: string): string => {
  const id = /\/functions\/arn:[^/]*:function:([^/:]+)\/invocations$/.exec(uri)?.[1];
  if (id === undefined) throw new LocalError(`${uri} is not the address of a function's invocations.`);
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

/** Orders routes: fixed segments before parameters, from the left. */
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
 * Finds the route of a request as a REST API does: by method and path together, so that a resource without the method
 * does not hide one that has it; fixed segments before parameters; segments compared as they were sent, never decoded;
 * one slash at the end of the path is ignored.
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
