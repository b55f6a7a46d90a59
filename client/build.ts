import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";

/** Operations of the contract that the client calls. */
const OPERATIONS: ReadonlySet<unknown> = new Set([
  "linkAndroidStoreCustomer",
  "linkIosStoreCustomer",
  "readAccountEntitlements",
  "readChanges",
]);

/** Components of messages, which no operation names. */
const OF_MESSAGES = ["StoreRequest"] as const;

/** A schema, with what the document's schemas use. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
type Schemas = Readonly<Record<string, Schema>>;

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string; readonly responses: object }>>>
  >;
  readonly components: { readonly schemas: Schemas };
}

const REFERENCE = "#/components/schemas/";
/** The component `Error` would hide JavaScript's own. */
const typeName = (component: string): string => (component === "Error" ? "ErrorBody" : component);

const literals = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join(" | ");

const membersText = ({ properties = {}, required = [] }: Schema): string =>
  Object.entries(properties)
    .map(([name, property]) => {
      const comment = property.description === undefined ? "" : `/** ${property.description} */\n`;
      return `${comment}readonly ${name}${required.includes(name) ? "" : "?"}: ${typeOf(property, name)};`;
    })
    .join("\n");

const typeWithoutNull = (schema: Schema, name: string): string => {
  const { $ref, type } = schema;
  if ($ref?.startsWith(REFERENCE) === true) return typeName($ref.slice(REFERENCE.length));
  if (schema.enum !== undefined) return literals(schema.enum);
  if (type === "string") return name === "error" ? "ErrorCode" : "string";
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  if (type === "array") return `readonly (${typeOf(schema.items, name)})[]`;
  if (type === "object") return `{ ${membersText(schema)} }`;
  throw new Error(`The schema of ${name} has a type that is not written yet: ${JSON.stringify(schema)}`);
};

const typeOf = (schema: Schema | undefined, name: string): string => {
  if (schema === undefined) throw new Error(`The schema of ${name} is missing.`);
  return typeWithoutNull(schema, name) + (schema.nullable === true ? " | null" : "");
};

/** Components that a part of the document references, directly or indirectly. */
const namedIn = (part: unknown, components: Schemas, found = new Set<string>()): Set<string> => {
  for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g))
    if (!found.has(name)) {
      found.add(name);
      namedIn(components[name], components, found);
    }
  return found;
};

/** Values of every property `error` with a list of values, however deep. */
const errorCodesIn = (part: unknown): readonly unknown[] => {
  if (typeof part !== "object" || part === null) return [];
  const { error }: { readonly error?: Schema } = part;
  return [...(error?.enum ?? []), ...Object.values(part).flatMap(errorCodesIn)];
};

/**
 * TypeScript's types of the client's requests, answers, messages and error codes, from the OpenAPI document: it is what is
 * promised, and the contract's own schemas would bring zod into the package.
 */
const contractTypes = (document: OpenApi): string => {
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId }) => OPERATIONS.has(operationId));
  if (operations.length !== OPERATIONS.size)
    throw new Error("The document lacks an operation of the client.");
  const components = document.components.schemas;
  const codes = [...new Set(errorCodesIn(operations.map(({ responses }) => responses)))].sort();
  const names = new Set([...namedIn(operations, components), ...OF_MESSAGES]);
  const types = [...names].sort().map((name) => {
    const schema = components[name];
    if (schema?.type !== "object") throw new Error(`${name} is no object.`);
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

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** `source/contract.ts` as the contract has it now, formatted as the project's files are. */
export const contractSource = async (): Promise<string> => {
  const document = JSON.parse(readFileSync(here("../docs/openapi.json"), "utf8"));
  const file = here("source/contract.ts");
  return format(contractTypes(document), { ...(await resolveConfig(file)), filepath: file });
};

/**
 * Compiles and packs the client.
 *
 * @param folder gets `package/`, what is packed, and `customer-entitlements-client-<version>.tgz`
 */
export const pack = (folder: string): void => {
  const staging = join(folder, "package");
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  const tsc = here("../node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", here("."), "--outDir", join(staging, "dist")]);
  for (const file of ["package.json", "README.md"]) copyFileSync(here(file), join(staging, file));
  copyFileSync(here("../LICENSE"), join(staging, "LICENSE"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: staging });
};

if (import.meta.main) {
  writeFileSync(here("source/contract.ts"), await contractSource());
  pack(here("dist"));
  process.stdout.write("The package is in client/dist.\n");
}
