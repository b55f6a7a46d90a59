import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { once } from "../../lib/once.ts";

/** A file of the page. */
export interface Asset {
  readonly contentType: string;
  readonly body: string;
}

const PAGE = fileURLToPath(new URL("../../console/", import.meta.url));
const require = createRequire(import.meta.url);

/** Bundles the page's script in memory. */
const bundled = async (): Promise<string> => {
  // Loaded only by the console: no other command bundles.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [`${PAGE}main.tsx`],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
};

const script = once(bundled);

const ASSETS: Readonly<Record<string, () => Promise<Asset>>> = {
  "/console": async () => ({
    contentType: "text/html; charset=utf-8",
    body: await readFile(`${PAGE}index.html`, "utf8"),
  }),
  "/console/main.js": async () => ({ contentType: "text/javascript; charset=utf-8", body: await script() }),
  "/console/pico.css": async () => ({
    contentType: "text/css; charset=utf-8",
    body: await readFile(require.resolve("@picocss/pico/css/pico.min.css"), "utf8"),
  }),
  "/console/style.css": async () => ({
    contentType: "text/css; charset=utf-8",
    body: await readFile(`${PAGE}style.css`, "utf8"),
  }),
};

/** The page's file at a path; null: there is none. */
export const assetAt = async (path: string): Promise<Asset | null> => (await ASSETS[path]?.()) ?? null;
