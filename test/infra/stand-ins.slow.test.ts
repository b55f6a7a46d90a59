import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { build } from "esbuild";
import { exec, spawn } from "../../infra/bundling/stand-ins/child-process.ts";
import { readFile } from "../../infra/bundling/stand-ins/fs-promises.ts";
import {
  getGCPResidency,
  instance,
  isAvailable,
  project,
  universe,
} from "../../infra/bundling/stand-ins/gcp-metadata.ts";
import { connect } from "../../infra/bundling/stand-ins/http2.ts";
import { stringify } from "../../infra/bundling/stand-ins/qs.ts";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { BUNDLING, ENTRIES } from "../../infra/bundling/bundled-code.ts";

const functions = Object.keys(ENTRIES);

/** Whether a function has the table's client, by which it shows that the tests below see a bundle's modules. */
const readsTable = (name: string): boolean =>
  Object.values<Endpoint>(endpoints).every(
    ({ function: other, table }) => other !== name || table.reads.length > 0,
  );

/** Modules that no function may bundle or load, however they are imported. */
const ABSENT = [
  "@aws-sdk/credential-provider-node",
  "@aws-sdk/endpoint-cache",
  "child_process",
  "fs/promises",
  "gcp-metadata",
  "google-logging-utils",
  "http2",
  "node-fetch",
  "qs",
];

test.each(functions)("%s holds no replaced module, no dynamic import and no late package", async (name) => {
  const { metafile, outputFiles } = await build({
    ...BUNDLING,
    minify: false,
    entryPoints: [`functions/${ENTRIES[name]}`],
    write: false,
    metafile: true,
  });
  const bundled = Object.keys(metafile.inputs);
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const loaded = imports.map(({ path }) => path.replace(/^node:/, ""));
  const text = outputFiles[0]?.text ?? "";
  const ofSdk = text.match(/^\/\/ node_modules\/@smithy\/core\//gm) ?? [];
  expect(!readsTable(name) || (bundled.length > 100 && loaded.length > 10 && ofSdk.length > 100)).toBe(true);
  const isLeft = (absent: string) =>
    loaded.includes(absent) || bundled.some((file) => file.includes(`node_modules/${absent}/`));
  expect(ABSENT.filter(isLeft)).toEqual([]);
  expect(imports.filter(({ kind }) => kind === "dynamic-import")).toEqual([]);
  // Stand-ins may be lazy: they are small, and CommonJS packages require them.
  const later = [...text.matchAll(/__esm\(\{\s*"(?<module>[^"]*)"/g)].map(([, module]) => module);
  expect(later.filter((module) => module?.startsWith("infra/bundling/stand-ins/") !== true)).toEqual([]);
});

test("every stand-in replaces a module", () => {
  expect(new Set(Object.values(BUNDLING.alias).map((file) => basename(file)))).toEqual(
    new Set(readdirSync("infra/bundling/stand-ins")),
  );
});

test.each<Parameters<typeof stringify>>([
  [{ a: 1, b: ["x", "y z"], c: undefined, d: null, e: "&+é=#", f: true }],
  [{ "a b": "~*'()!-._", empty: "", none: [] }],
  [{}],
])("the query %j is written as Google's client writes it with qs", (query) => {
  const qs: { stringify(query: object, options: object): string } = createRequire(
    createRequire(import.meta.url).resolve("googleapis-common"),
  )("qs");
  expect(stringify(query)).toBe(qs.stringify(query, { arrayFormat: "repeat" }));
});

test("nothing asks the machine, starts a program, reads a configuration or speaks HTTP/2", async () => {
  expect([await isAvailable(), getGCPResidency()]).toEqual([false, false]);
  for (const ask of [instance, project, universe]) await expect(ask()).rejects.toThrow("no metadata server");
  for (const start of [exec, spawn]) expect(start).toThrow("No function starts a program");
  await expect(readFile()).rejects.toMatchObject({ code: "ENOENT" });
  expect(connect).toThrow("not used");
});
