import { buildSync } from "esbuild";
import { BUNDLING, ENTRIES } from "../../infra/bundling/bundled-code.ts";
import { sourceLocation } from "../../tools/source-location.ts";

test("a position in a function's bundle maps to its source", () => {
  const folder = "read-account-entitlements";
  const entryPoints = [`functions/${ENTRIES[folder]}`];
  const { outputFiles } = buildSync({ ...BUNDLING, entryPoints, outfile: "index.cjs", write: false });
  const lines = outputFiles[0]?.text.split("\n") ?? [];
  const line = lines.findIndex((text) => text.includes("does not match its schema."));
  const column = lines[line]?.indexOf("does not match its schema.") ?? -1;
  expect(sourceLocation(folder, line + 1, column + 1)).toMatch(
    /^(?:\.\.\/)*lib\/table\/dynamodb\/table\.ts:\d+:\d+$/,
  );
});
