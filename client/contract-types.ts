/** Operations of the contract that the client calls. */
const OPERATIONS: ReadonlySet<unknown> = new Set([
  "linkAndroidStoreCustomer",
  "linkIosStoreCustomer",
  "readAccountEntitlements",
  "readChanges",
]);

/** Components of messages, which no operation names. */
const OF_MESSAGES = ["StoreRequest"] as const;

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const member = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((found, name) => (isObject(found) ? found[name] : undefined), value);

const membersOf = (value: unknown): unknown[] => (isObject(value) ? Object.values(value) : []);

const REFERENCE = "#/components/schemas/";
/** The component `Error` would hide JavaScript's own. */
const typeName = (component: string): string => (component === "Error" ? "ErrorBody" : component);

const literals = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join(" | ");

const comment = (text: unknown): string => (typeof text === "string" ? `/** ${text} */\n` : "");

const membersText = (schema: Json): string => {
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  return Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})
    .map(([name, property]) => {
      const mark = required.has(name) ? "" : "?";
      return `${comment(member(property, "description"))}readonly ${name}${mark}: ${typeOf(property, name)};`;
    })
    .join("\n");
};

const typeWithoutNull = (schema: Json, name: string): string => {
  const { $ref, type } = schema;
  if (typeof $ref === "string" && $ref.startsWith(REFERENCE)) return typeName($ref.slice(REFERENCE.length));
  if (Array.isArray(schema["enum"])) return literals(schema["enum"]);
  if (type === "string") return name === "error" ? "ErrorCode" : "string";
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  if (type === "array") return `readonly (${typeOf(schema["items"], name)})[]`;
  if (type === "object") return `{ ${membersText(schema)} }`;
  throw new Error(`The schema of ${name} has a type that is not written yet: ${JSON.stringify(schema)}`);
};

const typeOf = (schema: unknown, name: string): string => {
  if (!isObject(schema)) throw new Error(`The schema of ${name} is missing.`);
  return typeWithoutNull(schema, name) + (schema["nullable"] === true ? " | null" : "");
};

const operationsOf = (document: unknown): Json[] =>
  membersOf(member(document, "paths"))
    .flatMap(membersOf)
    .filter(isObject)
    .filter(({ operationId }) => OPERATIONS.has(operationId));

/** Components that a part of the document references, directly or indirectly. */
const namedIn = (part: unknown, components: Json, found = new Set<string>()): Set<string> => {
  for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    if (!found.has(name)) {
      found.add(name);
      namedIn(components[name], components, found);
    }
  return found;
};

/** Values of every property `error` with a list of values, however deep. */
const errorCodesIn = (part: unknown): unknown[] => {
  const here = member(part, "error", "enum");
  return [
    ...(Array.isArray(here) ? here : []),
    ...(Array.isArray(part) ? part : membersOf(part)).flatMap(errorCodesIn),
  ];
};

/**
 * TypeScript's types of the client's requests, answers, messages and error codes, from the OpenAPI document: it is what is
 * promised, and the contract's own schemas would bring zod into the package.
 */
export const contractTypes = (document: unknown): string => {
  const operations = operationsOf(document);
  if (operations.length !== OPERATIONS.size)
    throw new Error("The document lacks an operation of the client.");
  const components = member(document, "components", "schemas");
  if (!isObject(components)) throw new Error("The document has no schemas.");
  const codes = [...new Set(errorCodesIn(operations.map(({ responses }) => responses)))].sort();
  const names = new Set([...namedIn(operations, components), ...OF_MESSAGES]);
  const types = [...names].sort().map((name) => {
    const schema = components[name];
    if (!isObject(schema) || schema["type"] !== "object") throw new Error(`${name} is no object.`);
    return `export interface ${typeName(name)} {\n${membersText(schema)}\n}`;
  });
  return [
    "// Written from docs/openapi.json by `npm run client`; changes belong into the contract.",
    ...types,
    `/** Stable codes of the service's refusals. */\nexport type ErrorCode = ${literals(codes)};`,
    'export type ErrorIssue = NonNullable<ErrorBody["issues"]>[number];',
    'export type Store = CustomerEntitlement["store"];',
    'export type Status = CustomerEntitlement["status"];',
    "",
  ].join("\n\n");
};
