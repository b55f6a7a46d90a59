import { readdirSync } from "node:fs";
import { build } from "esbuild";
import {
  isAvailable,
  getGCPResidency,
  instance,
  project,
  universe,
} from "../../functions/stand-ins/gcp-metadata.ts";
import { connect } from "../../functions/stand-ins/http2.ts";
import { stringify } from "../../functions/stand-ins/qs.ts";
import { BUNDLING } from "../../infra/constructs/bundled-code.ts";

const functions = readdirSync("functions", { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "stand-ins")
  .map(({ name }) => name);

test.each(functions)("%s holds nothing of what is stood in for", async (name) => {
  const { metafile } = await build({
    ...BUNDLING,
    entryPoints: [`functions/${name}/handler.ts`],
    write: false,
    metafile: true,
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.length).toBeGreaterThan(100);
  const packages = Object.keys(BUNDLING.alias);
  expect(packages).toHaveLength(readdirSync("functions/stand-ins").length);
  expect(inputs.filter((input) => packages.some((one) => input.includes(`node_modules/${one}/`)))).toEqual(
    [],
  );
});

test("a query is written as the store's client has it: lists as their members, spaces as %20, nothing as nothing", () => {
  expect(stringify({ a: 1, b: ["x", "y z"], c: undefined, d: null, e: "&+é", f: true })).toBe(
    "a=1&b=x&b=y%20z&e=%26%2B%C3%A9&f=true",
  );
  expect(stringify({})).toBe("");
});

test("nobody asks the machine for Google's credentials", async () => {
  expect(await isAvailable()).toBe(false);
  expect(getGCPResidency()).toBe(false);
  for (const ask of [instance, project, universe]) await expect(ask()).rejects.toThrow("no metadata server");
});

test("HTTP/2 is refused, and not tried", () => {
  expect(connect).toThrow("not used");
});
