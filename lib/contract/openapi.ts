import * as z from "zod";
import { endpoints, GATEWAY_ERRORS, type Endpoint } from "./endpoints.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";

const errorSchemaName = "Error";

const jsonSchemaOf = (schema: z.core.$ZodType): object => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" });
  return json;
};

const componentSchemas = (): Record<string, object> => {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    target: "openapi-3.0",
    io: "output",
    uri: (id) => `#/components/schemas/${id}`,
  });
  const components = Object.entries(schemas).map(([id, schema]) => {
    const component: Record<string, unknown> = { ...schema };
    for (const notOfOpenApi of ["$schema", "$id", "id"]) delete component[notOfOpenApi];
    // Request bodies stay open: unknown fields are ignored, so that an app may be newer than the service.
    if (id.endsWith("Request")) delete component["additionalProperties"];
    return [id, component] as const;
  });
  return Object.fromEntries(components.sort(([a], [b]) => (a < b ? -1 : 1)));
};

const errorResponses = (codes: readonly ErrorCode[]): Record<string, object> => {
  const byStatus = Map.groupBy([...new Set(codes)], (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        String(status),
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("\n\n"),
          ...(status === 503 && {
            headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } },
          }),
          content: {
            "application/json": {
              schema: {
                allOf: [
                  { $ref: `#/components/schemas/${errorSchemaName}` },
                  { type: "object", properties: { error: { type: "string", enum: codes } } },
                ],
              },
            },
          },
        },
      ]),
  );
};

const reference = (schema: z.core.$ZodType): object => ({
  $ref: `#/components/schemas/${z.globalRegistry.get(schema)?.id}`,
});

const securityOf = ({ scope, readsAuthorization }: Endpoint): readonly object[] => {
  if (scope !== null) return [{ apiKey: [] }];
  return readsAuthorization === true ? [{ googlePushToken: [] }] : [];
};

/** Parameters of a GET: those that the path names, and those of the query. */
const parametersOf = ({ path, request }: Endpoint): readonly object[] => {
  const { properties = {}, required = [] } = jsonSchemaOf(request()) as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => {
    const isInPath = path.includes(`{${name}}`);
    return {
      name,
      in: isInPath ? "path" : "query",
      required: required.includes(name),
      ...(isInPath && { description: "Percent-encoded once; decoded exactly once." }),
      schema,
    };
  });
};

const operation = (name: string, endpoint: Endpoint): object => ({
  operationId: name,
  summary: endpoint.summary,
  description: endpoint.description,
  security: securityOf(endpoint),
  ...(endpoint.scope !== null && { "x-required-scope": endpoint.scope }),
  ...(endpoint.method === "GET"
    ? {
        parameters: parametersOf(endpoint),
      }
    : {
        requestBody: {
          required: true,
          content: { "application/json": { schema: reference(endpoint.request()) } },
        },
      }),
  responses: {
    200: {
      description: "Success",
      content: { "application/json": { schema: reference(endpoint.response()) } },
    },
    ...errorResponses([...endpoint.errors, ...GATEWAY_ERRORS]),
  },
});

/** OpenAPI 3.0 document of the service, built from the contract alone. `docs/openapi.json` is its copy on disk. */
export const openApiDocument = (): object => ({
  openapi: "3.0.3",
  info: {
    title: "Customer entitlement linking",
    version: "1.0.0",
    description:
      "Verifies Android-store and iOS-store purchases, links them to the accounts of an application, and answers what each account is entitled to. " +
      "Paths only grow: new optional fields may appear, enum values and fields never change.",
    license: { name: "MIT", url: "https://opensource.org/license/mit" },
  },
  servers: [{ url: "/" }],
  paths: Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      endpoint.path,
      { [endpoint.method.toLowerCase()]: operation(name, endpoint) },
    ]),
  ),
  components: {
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        description: "`Authorization: Bearer cek_…`, an API key with the endpoint's scope.",
      },
      googlePushToken: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "JWT",
        description:
          "Google's OIDC token of an authenticated Pub/Sub push, for the package's service account and audience.",
      },
    },
    schemas: {
      ...componentSchemas(),
      [errorSchemaName]: {
        type: "object",
        required: ["error", "message"],
        properties: {
          error: { type: "string", description: "Stable." },
          message: { type: "string", description: "A sentence for a person; not stable." },
          issues: {
            type: "array",
            description: "On `INVALID_REQUEST`: what is wrong, and where.",
            items: {
              type: "object",
              required: ["path", "message"],
              properties: { path: { type: "string" }, message: { type: "string" } },
            },
          },
        },
      },
    },
  },
});
