import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openApiDocument } from "../../lib/contract/openapi.ts";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";
import type { LiveExamples } from "./live-examples.ts";

const VIEWER = join(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"), "..");

const VIEWER_FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const pageOf = (
  script: string,
  other: { readonly path: string; readonly title: string },
): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Customer entitlement linking</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <p style="margin: 1em; font-family: sans-serif"><a href="${other.path}">${other.title}</a></p>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="${script}"></script>
  </body>
</html>
`;

const viewerOf = (document: string, onComplete: string): string => `const viewer = SwaggerUIBundle({
  url: "${document}",
  dom_id: "#reference",
  validatorUrl: null,
  deepLinking: true,
  tryItOutEnabled: true,
  onComplete: ${onComplete},
});
`;

/** Fetched, so that no page of another origin can read them as a script. */
const AUTHORIZE = `async () => {
    const credentials = await (await fetch("/docs/credentials.json")).json();
    for (const [scheme, value] of Object.entries(credentials)) viewer.preauthorizeApiKey(scheme, value);
  }`;

const DOCUMENTS: Readonly<Record<string, string>> = {
  "/docs": pageOf("/docs/start.js", { path: "/docs/sandbox", title: "The sandbox stores and the clock" }),
  "/docs/sandbox": pageOf("/docs/sandbox.js", { path: "/docs", title: "The service's API" }),
};

const SCRIPTS: Readonly<Record<string, string>> = {
  "/docs/start.js": viewerOf("/openapi.json", AUTHORIZE),
  "/docs/sandbox.js": viewerOf("/sandbox/openapi.json", "() => undefined"),
};

/** Restricts the page to resources of this server, whatever Swagger UI tries to load. */
const FROM_HERE_ONLY = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

export interface DocumentationOptions {
  readonly live: () => Promise<LiveExamples>;
  readonly sandboxDocument: object;
  /** Demo application's key, with which the page's requests are sent. */
  readonly apiKey: string;
}

/**
 * Serves the references of the API at `/docs` and of the sandbox at `/docs/sandbox`, and their documents at `/openapi.json`
 * and `/sandbox/openapi.json`. `/` leads there.
 */
export const createDocumentation = ({ live, sandboxDocument, apiKey }: DocumentationOptions): Mount => {
  const documents: Readonly<Record<string, () => Promise<object>>> = {
    "/openapi.json": async () => openApiDocument((await live()).requests),
    "/sandbox/openapi.json": async () => sandboxDocument,
    "/docs/credentials.json": async () => {
      const { googlePushToken } = await live();
      return { apiKey, ...(googlePushToken !== null && { googlePushToken }) };
    },
  };

  return async (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") return false;
    const path = pathOf(request);
    if (path === "/") {
      answer(response, 302, "text/plain; charset=utf-8", "/docs\n", { Location: "/docs" });
      return true;
    }
    const document = documents[path];
    if (document !== undefined) {
      answer(response, 200, "application/json", JSON.stringify(await document()));
      return true;
    }
    const page = DOCUMENTS[path.replace(/\/$/, "")];
    if (page !== undefined) {
      answer(response, 200, "text/html; charset=utf-8", page, FROM_HERE_ONLY);
      return true;
    }
    const script = SCRIPTS[path];
    if (script !== undefined) {
      answer(response, 200, "text/javascript; charset=utf-8", script);
      return true;
    }
    const file = path.replace(/^\/docs\//, "");
    const contentType = file === path ? undefined : VIEWER_FILES[file];
    if (contentType === undefined) return false;
    answer(response, 200, contentType, await readFile(join(VIEWER, file)));
    return true;
  };
};
