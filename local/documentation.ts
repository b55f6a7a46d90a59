import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { openApiDocument } from "../lib/contract/openapi.ts";
import { answer, pathOf, type Mount } from "../sandbox/mount.ts";

const VIEWER = join(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"), "..");

const VIEWER_FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Customer entitlement linking</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  validatorUrl: null,
  deepLinking: true,
  tryItOutEnabled: true,
});
`;

/** Restricts the page to resources of this server, whatever Swagger UI tries to load. */
const FROM_HERE_ONLY = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** Serves the OpenAPI document at `/openapi.json` and Swagger UI at `/docs`. */
export const createDocumentation = (): Mount => async (request, response) => {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  const path = pathOf(request);
  if (path === "/openapi.json") {
    answer(response, 200, "application/json", JSON.stringify(openApiDocument()));
    return true;
  }
  if (path === "/docs" || path === "/docs/") {
    answer(response, 200, "text/html; charset=utf-8", PAGE, FROM_HERE_ONLY);
    return true;
  }
  if (path === "/docs/start.js") {
    answer(response, 200, "text/javascript; charset=utf-8", START);
    return true;
  }
  const file = path.replace(/^\/docs\//, "");
  const contentType = file === path ? undefined : VIEWER_FILES[file];
  if (contentType === undefined) return false;
  answer(response, 200, contentType, await readFile(join(VIEWER, file)));
  return true;
};
