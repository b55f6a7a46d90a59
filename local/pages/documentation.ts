import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openApiDocument } from "../../lib/contract/openapi.ts";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";
import type { LiveExamples } from "./live-examples.ts";
import { sandboxDocument } from "./sandbox-document.ts";

const VIEWER = join(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"), "..");

const pageOf = (script: string, otherPath: string, otherTitle: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Customer entitlement linking</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <p style="margin: 1em; font-family: sans-serif"><a href="${otherPath}">${otherTitle}</a></p>
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

/** Restricts the page to resources of this server, whatever Swagger UI tries to load. */
const FROM_HERE_ONLY = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const JSON_DOCUMENT = "application/json";

const ofViewer = async (file: string): Promise<Buffer> => readFile(join(VIEWER, file));

type Content = string | Buffer;

const pagesOf = (
  live: () => Promise<LiveExamples>,
  apiKey: string,
): Readonly<Record<string, readonly [contentType: string, content: () => Content | Promise<Content>]>> => ({
  "/docs": [HTML, () => pageOf("/docs/start.js", "/docs/sandbox", "The sandbox stores and the clock")],
  "/docs/sandbox": [HTML, () => pageOf("/docs/sandbox.js", "/docs", "The service's API")],
  "/docs/start.js": [SCRIPT, () => viewerOf("/openapi.json", AUTHORIZE)],
  "/docs/sandbox.js": [SCRIPT, () => viewerOf("/sandbox/openapi.json", "() => undefined")],
  "/docs/swagger-ui-bundle.js": [SCRIPT, () => ofViewer("swagger-ui-bundle.js")],
  "/docs/swagger-ui.css": ["text/css; charset=utf-8", () => ofViewer("swagger-ui.css")],
  "/docs/favicon-32x32.png": ["image/png", () => ofViewer("favicon-32x32.png")],
  "/openapi.json": [JSON_DOCUMENT, async () => JSON.stringify(openApiDocument((await live()).requests))],
  "/sandbox/openapi.json": [JSON_DOCUMENT, () => JSON.stringify(sandboxDocument())],
  "/docs/credentials.json": [
    JSON_DOCUMENT,
    async () => {
      const { googlePushToken } = await live();
      return JSON.stringify({ apiKey, ...(googlePushToken !== null && { googlePushToken }) });
    },
  ],
});

/**
 * Serves the references of the API at `/docs` and of the sandbox at `/docs/sandbox`, and their documents at `/openapi.json`
 * and `/sandbox/openapi.json`. `/` leads there.
 *
 * @param apiKey the demo application's, with which the page's requests are sent
 */
export const createDocumentation = (live: () => Promise<LiveExamples>, apiKey: string): Mount => {
  const pages = new Map(Object.entries(pagesOf(live, apiKey)));
  return async (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") return false;
    const path = pathOf(request);
    if (path === "/") {
      answer(response, 302, "text/plain; charset=utf-8", "/docs\n", { Location: "/docs" });
      return true;
    }
    const [contentType, content] = pages.get(path.replace(/\/$/, "")) ?? [];
    if (contentType === undefined || content === undefined) return false;
    answer(response, 200, contentType, await content(), contentType === HTML ? FROM_HERE_ONLY : {});
    return true;
  };
};
