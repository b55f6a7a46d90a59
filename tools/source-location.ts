import { SourceMap } from "node:module";
import { buildSync } from "esbuild";
import { BUNDLING, ENTRIES } from "../infra/bundling/bundled-code.ts";

/**
 * `npm run source-location -- <function> <line>:<column>`: maps a position in a function's `index.cjs`, as in the log's
 * `error.at`, to the sources; null if it has no source. Run it on the sources that were deployed: the same sources give
 * the same bundle.
 */
export const sourceLocation = (folder: string, line: number, column: number): string | null => {
  const { outputFiles } = buildSync({
    ...BUNDLING,
    entryPoints: [`functions/${ENTRIES[folder]}`],
    outfile: "index.cjs",
    sourcemap: "external",
    sourcesContent: false,
    write: false,
  });
  const map = outputFiles.find(({ path }) => path.endsWith(".map"));
  const entry = new SourceMap(JSON.parse(map?.text ?? "{}")).findEntry(line - 1, column - 1);
  return "originalSource" in entry
    ? `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    : null;
};

const main = (args: readonly string[]): void => {
  const [folder = "", place = ""] = args;
  const [, line, column] = /(\d+):(\d+)\)?$/.exec(place) ?? [];
  if (!Object.hasOwn(ENTRIES, folder) || line === undefined || column === undefined) {
    process.stderr.write(
      "Usage: npm run source-location -- <function> <line>:<column>, with the position of error.at in the log.\n",
    );
    process.exitCode = 1;
    return;
  }
  process.stdout.write(
    `${sourceLocation(folder, Number(line), Number(column)) ?? "This position has no source."}\n`,
  );
};

if (import.meta.main) main(process.argv.slice(2));
