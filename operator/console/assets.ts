import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { once } from "../../lib/once.ts";

const PAGE = fileURLToPath(new URL("../../console/", import.meta.url));
const require = createRequire(import.meta.url);

const bundled = async (): Promise<string> => {
  // Loaded only by the console: no other command bundles.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [`${PAGE}app.tsx`],
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

const file = async (contentType: string, path: string) => ({
  contentType,
  body: await readFile(path, "utf8"),
});

const ASSETS: ReadonlyMap<string, () => ReturnType<typeof file>> = new Map([
  ["", () => file("text/html; charset=utf-8", `${PAGE}index.html`)],
  ["main.js", async () => ({ contentType: "text/javascript; charset=utf-8", body: await script() })],
  ["pico.css", () => file("text/css; charset=utf-8", require.resolve("@picocss/pico/css/pico.min.css"))],
  ["style.css", () => file("text/css; charset=utf-8", `${PAGE}style.css`)],
]);

/** The page's file with this name, empty for the page itself; null: there is none. */
export const assetOf = async (name: string) => (await ASSETS.get(name)?.()) ?? null;
