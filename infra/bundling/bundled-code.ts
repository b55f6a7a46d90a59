import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code, type AssetCode } from "aws-cdk-lib/aws-lambda";
import { buildSync, type BuildOptions } from "esbuild";
import { endpoints, functionName } from "../../lib/contract/endpoints.ts";
import { SCHEDULED_FUNCTIONS } from "../functions.ts";

/** Modules under `functions/` that export `handler`, by function name. */
export const ENTRIES: Readonly<Record<string, string>> = {
  "authorize-credential": "authorize-credential.ts",
  ...Object.fromEntries([
    ...Object.values(endpoints).map(({ function: name }) => [name, `endpoints/${name}.ts`]),
    ...Object.keys(SCHEDULED_FUNCTIONS)
      .map(functionName)
      .map((name) => [name, `schedules/${name}.ts`]),
  ]),
};

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** The source folder that the CDK requires, and never reads. */
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
/** Replaces a package with the part that the functions use; each file gives its reason. */
const standIn = (name: string): string => fileURLToPath(new URL(`stand-ins/${name}.ts`, import.meta.url));

/**
 * esbuild options for one function.
 * - CommonJS from the packages' ES modules starts fastest: 44 ms against 62 ms for the document client.
 * - No source map (30 ms; `npm run source-location` rebuilds it) and no kept names (10 ms).
 * - ASCII alone: one character beyond Latin-1 makes V8 scan the whole bundle at two bytes a character.
 * - `import()` becomes `require`: `node:http` as an ES module loads all of Node's `fetch`.
 * - The SDK's event streams, which nothing here uses, are left out.
 */
export const BUNDLING = {
  absWorkingDir: PROJECT,
  alias: {
    "@aws-sdk/credential-provider-node": standIn("credential-provider-node"),
    "@aws-sdk/endpoint-cache": standIn("endpoint-cache"),
    child_process: standIn("child-process"),
    "gcp-metadata": standIn("gcp-metadata"),
    "google-logging-utils": standIn("google-logging-utils"),
    http2: standIn("http2"),
    "node-fetch": standIn("node-fetch"),
    "node:fs/promises": standIn("fs-promises"),
    qs: standIn("qs"),
  },
  bundle: true,
  platform: "node",
  target: "node24",
  format: "cjs",
  mainFields: ["module", "main"],
  minify: true,
  supported: { "dynamic-import": false },
  external: ["@smithy/core/event-streams"],
  legalComments: "none",
  charset: "ascii",
  tsconfigRaw: {},
  logLevel: "warning",
} as const satisfies BuildOptions;

/** Module of a function, by its entry in {@link ENTRIES}. */
export type ModuleOf = (entry: string) => string;

const bundle = (moduleOf: ModuleOf): ReadonlyMap<string, Uint8Array> => {
  const { outputFiles } = buildSync({
    ...BUNDLING,
    entryPoints: Object.entries(ENTRIES).map(([name, entry]) => ({ in: moduleOf(entry), out: name })),
    outdir: PROJECT,
    write: false,
  });
  return new Map(outputFiles.map(({ path, contents }) => [basename(path, ".js"), contents]));
};

/**
 * Bundles of functions, each with all its imports in `index.cjs`. esbuild makes them together when the first is needed,
 * since most of their modules are the same. The same sources give the same bytes, whose hash names the asset.
 *
 * @returns the code of a function, by its name
 */
export const bundledCode = (moduleOf: ModuleOf): ((name: string) => AssetCode) => {
  let bundles: ReadonlyMap<string, Uint8Array> | undefined;
  const bundleOf = (name: string): Uint8Array => {
    bundles ??= bundle(moduleOf);
    const found = bundles.get(name);
    if (found === undefined) throw new RangeError(`There is no module of ${name}.`);
    return found;
  };
  return (name) =>
    Code.fromAsset(FOLDER, {
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Required, and never used: local bundling succeeds or throws.
        image: DockerImage.fromRegistry("none"),
        // Never run, but part of the CDK's cache key, which must differ between the assets of one folder.
        command: [name],
        local: {
          tryBundle: (outputFolder) => {
            writeFileSync(join(outputFolder, "index.cjs"), bundleOf(name));
            return true;
          },
        },
      },
    });
};
