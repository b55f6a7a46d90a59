import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code, type AssetCode } from "aws-cdk-lib/aws-lambda";
import { buildSync, type BuildOptions } from "esbuild";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** Module that replaces a package with the part that the functions use. Each file gives its reason. */
const standIn = (name: string): string => fileURLToPath(new URL(`stand-ins/${name}.ts`, import.meta.url));

/**
 * esbuild options for one function.
 *
 * - CommonJS from the packages' ES modules starts fastest: 44 ms against 62 ms for the document client.
 * - No source map (reading one takes about 30 ms at start) and no kept names (10 ms). To locate an error from a log,
 *   the map is rebuilt from the deployed commit (`docs/operations.md`).
 * - ASCII alone: one character beyond Latin-1 makes V8 keep and scan the whole bundle at two bytes a character.
 * - The SDK's `import()` becomes `require`: importing `node:http` as an ES module evaluates every export, and one of
 *   them, `WebSocket`, loads all of Node's `fetch`.
 * - The SDK's event-stream code is left out; no operation used here has event streams. To load it lazily, esbuild would
 *   wrap every module that it shares with the rest in a function.
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

/**
 * Bundles a module and its imports into `index.cjs`, with esbuild in this process: no Docker, package manager or network.
 * The same sources give the same bytes; the asset is named by their hash.
 *
 * @param entry module that exports `handler`
 */
export const bundledCode = (entry: string): AssetCode =>
  Code.fromAsset(dirname(entry), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // The CDK requires a fallback image. It is never used: local bundling succeeds or throws.
      image: DockerImage.fromRegistry("none"),
      // Never run. It is part of the CDK's cache key, which must differ between the assets of one folder.
      command: [entry],
      local: {
        tryBundle: (outputFolder) => {
          buildSync({ ...BUNDLING, entryPoints: [entry], outfile: `${outputFolder}/index.cjs` });
          return true;
        },
      },
    },
  });
