import { readFileSync } from "node:fs";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import { openApiDocument } from "../../lib/contract/openapi.ts";

interface Operation {
  readonly security: unknown[];
  readonly responses: Record<string, { content?: Record<string, { schema: { allOf?: unknown[] } }> }>;
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, { properties: object; required: string[] }>;
    readonly securitySchemes: Record<string, object>;
  };
}
const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;

test("docs/openapi.json matches the contract (`npm run openapi` writes it)", () => {
  const checkedIn: unknown = JSON.parse(readFileSync("docs/openapi.json", "utf8"));
  expect(checkedIn).toEqual(document);
});

test("the document has every endpoint, with a credential where the endpoint needs one", () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => [method.toUpperCase(), path, security]),
  );
  const securityOf = ({ scope, readsAuthorization }: Endpoint): object[] => {
    if (scope !== null) return [{ apiKey: [] }];
    return readsAuthorization === true ? [{ googlePushToken: [] }] : [];
  };
  expect(operations).toEqual(
    Object.values<Endpoint>(endpoints).map((endpoint) => [
      endpoint.method,
      endpoint.path,
      securityOf(endpoint),
    ]),
  );
  expect(Object.keys(document.components.securitySchemes)).toEqual(["apiKey", "googlePushToken"]);
});

test("every error code of an endpoint is documented under its status", () => {
  for (const { path, method, errors } of Object.values(endpoints)) {
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    for (const code of errors) expect(JSON.stringify(responses[ERRORS[code].status])).toContain(`"${code}"`);
  }
});

test("all response fields are required, and request bodies allow unknown fields", () => {
  const { schemas } = document.components;
  for (const name of ["CustomerEntitlement", "LinkResponse", "SynchronizeResponse", "AccountEntitlements"])
    expect(schemas[name]?.required).toEqual(Object.keys(schemas[name]?.properties ?? {}));
  for (const name of ["AndroidStoreLinkRequest", "IosStoreLinkRequest", "IosStoreSynchronizeRequest"])
    expect(schemas[name]).not.toHaveProperty("additionalProperties");
});
