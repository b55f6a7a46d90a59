import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { AssetHashType, DockerImage } from "aws-cdk-lib";
import { Code, type AssetCode } from "aws-cdk-lib/aws-lambda";
import { buildSync, type BuildOptions } from "esbuild";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** The package's part that the functions use, instead of the package; why, each file says. */
const standIn = (name: string): string => fileURLToPath(new URL(`stand-ins/${name}.ts`, import.meta.url));

/**
 * How a function becomes one file. CommonJS from the packages' ES modules starts fastest: 44 ms against 62 ms for the
 * document client. There is no source map, because reading one takes about 30 ms at start, and names are not kept, which
 * takes 10: places in a log are found with a map made again from the commit that was deployed (`docs/operations.md`).
 *
 * What the SDK gets by `import()` it gets by `require` here: of `node:http` as an ES module Node evaluates every export,
 * and one of them, `WebSocket`, brings all of Node's `fetch`. The SDK's code for streams of events is left out, as no
 * operation that is used here has any: every module that it shares with the rest would be wrapped in a function, for events
 * to be loaded later.
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
  charset: "utf8",
  tsconfigRaw: {},
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * A module and all it imports as one file, `index.cjs`, made by esbuild in this process: no Docker, no package manager,
 * no network. The same sources give the same bytes, and the asset's name is their hash.
 *
 * @param entry the module that exports the handler.
 */
export const bundledCode = (entry: string): AssetCode =>
  Code.fromAsset(dirname(entry), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // The CDK wants an image to fall back to; bundling here either succeeds or throws.
      image: DockerImage.fromRegistry("none"),
      // Never run: it tells the assets of one folder apart, which the CDK would take for the same.
      command: [entry],
      local: {
        tryBundle: (outputFolder) => {
          buildSync({ ...BUNDLING, entryPoints: [entry], outfile: `${outputFolder}/index.cjs` });
          return true;
        },
      },
    },
  });
