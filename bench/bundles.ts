import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { BUNDLING, ENTRIES } from "../infra/bundling/bundled-code.ts";

export const FUNCTIONS = [
  "authorize-credential",
  "read-account-entitlements",
  "synchronize-ios-store-purchases",
  "link-ios-store-customer",
  "link-android-store-customer",
] as const;
export type FunctionFolder = (typeof FUNCTIONS)[number];

export const entryOf = (folder: FunctionFolder): string => `functions/${ENTRIES[folder]}`;
export const baselineEntry = (name: "empty" | "document-client"): string => `bench/baselines/${name}.ts`;

/** Package of a path such as `node_modules/@scope/name/…`, or this service. */
const originOf = (input: string): string =>
  /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? "this service";

/**
 * Bundles a module as it is deployed.
 *
 * @param options.plain leaves packages unchanged: no stand-ins, nothing left out, `import()` kept
 */
export const bundle = async (entry: string, file: string, options: { readonly plain?: boolean } = {}) => {
  const { metafile } = await build({
    ...BUNDLING,
    ...(options.plain === true && { alias: {}, supported: {}, external: [] }),
    entryPoints: [entry],
    outfile: file,
    metafile: true,
  });
  const parts = new Map<string, number>();
  for (const { inputs } of Object.values(metafile.outputs))
    for (const [input, { bytesInOutput }] of Object.entries(inputs))
      parts.set(originOf(input), (parts.get(originOf(input)) ?? 0) + bytesInOutput);
  return {
    file,
    bytes: readFileSync(file).byteLength,
    /** Bytes of the bundle by origin, a package or this service; largest first. */
    parts: [...parts].sort(([, a], [, b]) => b - a),
  };
};
