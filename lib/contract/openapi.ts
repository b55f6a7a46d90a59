import * as z from "zod";
import { endpoints, GATEWAY_ERRORS, type Endpoint, type EndpointName } from "./endpoints.ts";
import { ERRORS, type ErrorBody, type ErrorCode } from "./errors.ts";
import { EXAMPLES, type RequestExamples } from "./examples.ts";
import { MESSAGES, type MessageType } from "./messages.ts";

const errorSchemaName = "Error";

const jsonSchemaOf = (schema: z.core.$ZodType): object => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" });
  return json;
};

/** Objects stay open, as new optional fields may come in requests and answers alike. */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) => name !== "additionalProperties" || value !== false)
      .map(([name, value]) => [name, opened(value)]),
  );
};

const componentSchemas = (): Record<string, object> => {
  for (const { data } of Object.values(MESSAGES)) data();
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    target: "openapi-3.0",
    io: "output",
    uri: (id) => `#/components/schemas/${id}`,
  });
  const components = Object.entries(schemas).map(([id, schema]) => {
    const component: Record<string, unknown> = { ...schema };
    for (const notOfOpenApi of ["$schema", "$id", "id"]) delete component[notOfOpenApi];
    return [id, opened(component) as object] as const;
  });
  return Object.fromEntries(components.sort(([a], [b]) => (a < b ? -1 : 1)));
};

const SENT_AGAIN: ReadonlySet<number> = new Set([429, 503]);

const json = (schema: object, more: object = {}): object => ({
  content: { "application/json": { schema, ...more } },
});

const errorResponse = (status: number, codes: readonly ErrorCode[], description: string): object => ({
  description,
  ...(SENT_AGAIN.has(status) && {
    headers: { "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } } },
  }),
  ...json(
    {
      allOf: [
        { $ref: `#/components/schemas/${errorSchemaName}` },
        { type: "object", properties: { error: { type: "string", enum: codes } } },
      ],
    },
    {
      examples: Object.fromEntries(
        codes.map((code) => [
          code,
          { value: { error: code, message: ERRORS[code].message } satisfies ErrorBody },
        ]),
      ),
    },
  ),
});

const errorResponses = (codes: readonly ErrorCode[]): Record<string, object> => {
  const byStatus = Map.groupBy([...new Set(codes)], (code) => ERRORS[code].status as number);
  const described = (code: ErrorCode) => `\`${code}\`: ${ERRORS[code].message}`;
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [
        status,
        errorResponse(status, codes, codes.map(described).join("\n\n")),
      ]),
    ),
    502: errorResponse(502, ["INTERNAL_ERROR"], "The function failed before it could answer; send it again."),
    504: errorResponse(504, ["INTERNAL_ERROR"], "The function did not answer in time; send it again."),
  };
};

const reference = (schema: z.core.$ZodType): object => ({
  $ref: `#/components/schemas/${z.globalRegistry.get(schema)?.id}`,
});

const securityOf = ({ scope, readsAuthorization }: Endpoint): readonly object[] => {
  if (scope !== null) return [{ apiKey: [] }];
  return readsAuthorization === true ? [{ googlePushToken: [] }] : [];
};

/** Groups of endpoints in the reference. */
const TAGS = {
  "android-store": { name: "Android store", description: "Purchases of the Android store." },
  "ios-store": { name: "iOS store", description: "Purchases of the iOS store." },
  accounts: { name: "Accounts", description: "What the application's accounts are entitled to." },
  notifications: { name: "Notifications", description: "What the stores send by themselves." },
} as const;

const tagOf = ({ takesNotifications, store }: Endpoint): string =>
  TAGS[takesNotifications === true ? "notifications" : (store ?? "accounts")].name;

/** Parameters of a GET: those that the path names, and those of the query. */
const parametersOf = (
  { path, request }: Endpoint,
  example: Readonly<Record<string, unknown>>,
): readonly object[] => {
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
      ...(example[name] !== undefined && { example: example[name] }),
    };
  });
};

const operation = (name: EndpointName, endpoint: Endpoint, live: RequestExamples): object => ({
  operationId: name,
  tags: [tagOf(endpoint)],
  summary: endpoint.summary,
  description: endpoint.description,
  security: securityOf(endpoint),
  ...(endpoint.scope !== null && { "x-required-scope": endpoint.scope }),
  ...(endpoint.method === "GET"
    ? { parameters: parametersOf(endpoint, (live[name] ?? EXAMPLES[name]).request) }
    : {
        requestBody: {
          required: true,
          ...json(reference(endpoint.request()), { example: (live[name] ?? EXAMPLES[name]).request }),
        },
      }),
  responses: {
    200: {
      description: "Success",
      ...json(reference(endpoint.response()), { example: EXAMPLES[name].response }),
    },
    ...errorResponses([...endpoint.errors, "ROUTE_NOT_FOUND", ...GATEWAY_ERRORS]),
  },
});

const SIGNATURE_HEADERS = {
  "webhook-id": "The same at each attempt, so that a repetition is recognized.",
  "webhook-timestamp": "When it was sent, in seconds since 1970. Refuse what is older than five minutes.",
  "webhook-signature":
    "`v1,` and the HMAC-SHA256, in base64, of `<webhook-id>.<webhook-timestamp>.<body>`; during a rotation of the secret two, separated by a space.",
} as const;

const messageOperation = (type: MessageType): object => {
  const { summary, description, data } = MESSAGES[type];
  return {
    operationId: type,
    summary,
    description: `${description} Signed as [Standard Webhooks](https://www.standardwebhooks.com) says.`,
    security: [],
    parameters: Object.entries(SIGNATURE_HEADERS).map(([name, description]) => ({
      name,
      in: "header",
      required: true,
      description,
      schema: { type: "string" },
    })),
    requestBody: {
      required: true,
      ...json({
        type: "object",
        required: ["type", "timestamp", "data"],
        properties: {
          type: { type: "string", enum: [type] },
          timestamp: { type: "string", format: "date-time", description: "Time of the event." },
          data: reference(data()),
        },
      }),
    },
    responses: {
      "2XX": { description: "The destination has taken the message." },
      410: { description: "The destination wants no more messages, until an operator resumes it." },
      default: { description: "The message is sent again later; a redirect is not followed." },
    },
  };
};

/**
 * OpenAPI 3.0 document of the service, built from the contract alone. `docs/openapi.json` is its copy on disk.
 *
 * @param live requests that a running service answers, in place of the made-up ones
 */
export const openApiDocument = (live: RequestExamples = {}): object => ({
  openapi: "3.0.3",
  info: {
    title: "Customer entitlement linking",
    version: "1.0.0",
    description:
      "Verifies Android-store and iOS-store purchases, links them to the accounts of an application, and answers what each account is entitled to. " +
      "Paths only grow: new optional fields may appear, enum values and fields never change. " +
      "Any other path, and a known path with another method, is answered 404 `ROUTE_NOT_FOUND`.",
    license: { name: "MIT", url: "https://opensource.org/license/mit" },
  },
  servers: [{ url: "/" }],
  tags: Object.values(TAGS),
  paths: Object.fromEntries(
    (Object.entries(endpoints) as [EndpointName, Endpoint][]).map(([name, endpoint]) => [
      endpoint.path,
      { [endpoint.method.toLowerCase()]: operation(name, endpoint, live) },
    ]),
  ),
  // OpenAPI 3.1 calls it `webhooks`.
  "x-webhooks": Object.fromEntries(
    (Object.keys(MESSAGES) as MessageType[]).map((type) => [type, { post: messageOperation(type) }]),
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
