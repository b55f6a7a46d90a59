import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import { openApiDocument } from "../../lib/contract/openapi.ts";
import { disagreements, undocumented, undocumentedMessage } from "../../testing/support/openapi.ts";

interface Content {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly value: unknown }>;
}
interface WithContent {
  readonly content?: Record<string, Content>;
}
interface Operation {
  readonly tags: string[];
  readonly security: unknown[];
  readonly parameters?: Content[];
  readonly requestBody?: WithContent;
  readonly responses: Record<string, WithContent>;
}
interface Document {
  readonly tags: { readonly name: string; readonly description: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, { properties: object; required: string[] }>;
    readonly securitySchemes: Record<string, object>;
  };
}
const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;

const contentOf = (part: WithContent | undefined): Content =>
  part?.content?.["application/json"] ?? { schema: {} };

test("docs/openapi.json matches the contract (`npm run openapi` writes it)", () => {
  const checkedIn: unknown = JSON.parse(readFileSync("docs/openapi.json", "utf8"));
  expect(checkedIn).toEqual(document);
});

test("the document has every endpoint with its credential", () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => [method.toUpperCase(), path, security]),
  );
  const securityOf = ({ scope, readsAuthorization }: Endpoint): object[] => {
    if (scope !== null) return [{ apiKey: [] }];
    return readsAuthorization === true ? [{ googlePushToken: [] }] : [];
  };
  const all = Object.values<Endpoint>(endpoints);
  expect(operations).toEqual(all.map((one) => [one.method, one.path, securityOf(one)]));
  expect(Object.keys(document.components.securitySchemes)).toEqual(["apiKey", "googlePushToken"]);
});

test("every error code of an endpoint is documented under its status", () => {
  for (const { path, method, errors } of Object.values(endpoints)) {
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    for (const code of errors) expect(JSON.stringify(responses[ERRORS[code].status])).toContain(`"${code}"`);
  }
});

test("all response fields are required, and unknown fields are allowed", () => {
  const { schemas } = document.components;
  for (const name of ["CustomerEntitlement", "LinkResponse", "SynchronizeResponse", "AccountEntitlements"])
    expect(schemas[name]?.required).toEqual(Object.keys(schemas[name]?.properties ?? {}));
  expect(JSON.stringify(document)).not.toContain("additionalProperties");
});

test("an answer that is not as the document says is noticed", () => {
  const schema = { $ref: "#/components/schemas/SynchronizeResponse" };
  expect(disagreements(schema, { customerIdentifier: null, entitlements: [], later: 1 })).toEqual([]);
  expect(disagreements(schema, { customerIdentifier: 1, entitlements: [] })).not.toEqual([]);
  expect(disagreements(schema, { customerIdentifier: null })).toHaveLength(1);
  expect(undocumented("GET", "/v1/customers/a/entitlements", 418, {})).toHaveLength(1);
  expect(undocumented("GET", "/v1/nothing", 404, {})).toEqual([]);
  expect(undocumentedMessage({ type: "store.request", timestamp: "today", data: {} })).not.toEqual([]);
  expect(undocumentedMessage({ type: "store.other" })).toHaveLength(1);
});

describe.each(Object.entries<Endpoint>(endpoints))("%s", (name, { path, method }) => {
  const operation = document.paths[path]?.[method.toLowerCase()];

  test("has a tag that is described", () => {
    const [tag = ""] = operation?.tags ?? [];
    expect(document.tags.find((one) => one.name === tag)?.description).toMatch(/\.$/);
  });

  test("documents unknown routes and the gateway's answers", () => {
    const codesOf = (status: string) => Object.keys(contentOf(operation?.responses[status]).examples ?? {});
    expect(codesOf("404")).toContain("ROUTE_NOT_FOUND");
    for (const status of ["500", "502", "504"]) expect(codesOf(status)).toEqual(["INTERNAL_ERROR"]);
  });

  test("has valid examples of its request, its answer and every error", () => {
    const { requestBody, parameters = [], responses = {} } = operation ?? {};
    const examples = [
      ...(requestBody === undefined ? [] : [contentOf(requestBody)]),
      ...parameters,
      ...Object.values(responses).map(contentOf),
    ];
    expect(examples.length).toBeGreaterThan(8);
    for (const { schema, example, examples: several } of examples) {
      const values = several === undefined ? [example] : Object.values(several).map(({ value }) => value);
      expect([name, values.length > 0 && values.every((value) => value !== undefined)]).toEqual([name, true]);
      for (const value of values) expect(disagreements(schema, value)).toEqual([]);
    }
  });
});

test("Redocly's linter, with its recommended rules, finds nothing in docs/openapi.json", () => {
  const redocly = dirname(createRequire(import.meta.url).resolve("@redocly/cli/package.json"));
  const found = execFileSync(
    process.execPath,
    [join(redocly, "bin/cli.js"), "lint", "--format=json", "docs/openapi.json"],
    {
      // Nothing is sent, and no newer version is asked for.
      env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  expect(JSON.parse(found)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
}, 30_000);
