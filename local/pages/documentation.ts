import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as z from "zod";
import { openApiDocument } from "../../lib/contract/openapi.ts";
import {
  androidChange,
  CHANGES as ANDROID_CHANGES,
  sandboxPurchase,
} from "../../sandbox/android-store/shop/requests.ts";
import { exportRequest } from "../../sandbox/exports/sell.ts";
import { serverApiFault } from "../../sandbox/ios-store/server-api.ts";
import { bought, CHANGES as IOS_CHANGES, changeSchema } from "../../sandbox/ios-store/shop/requests.ts";
import { answer, pathOf, type Mount } from "../../sandbox/routes.ts";
import { CLOCK_PATH, moveRequest } from "../clock/timekeeper.ts";
import { DEMO } from "../demo.ts";
import {
  ANDROID_PREFIX,
  DEMO_PURCHASE,
  EXPORTS_PATH,
  IOS_PREFIX,
  type LiveExamples,
} from "../sandbox-stores.ts";

/** The groups of the operations, by the beginning of their paths. */
const TAGS = {
  [IOS_PREFIX]: {
    name: "iOS store",
    description: "Buys in the sandbox App Store, and changes what was bought.",
  },
  [ANDROID_PREFIX]: {
    name: "Android store",
    description: "Buys in the sandbox of Google Play, and changes what was bought.",
  },
  [EXPORTS_PATH]: { name: "Exports", description: "Files of a rented service, for `import`." },
  [CLOCK_PATH]: { name: "Clock", description: "The one clock of the service and of both stores." },
};

interface SandboxOperation {
  readonly summary: string;
  readonly description?: string;
  readonly request?: z.ZodType;
  readonly example?: unknown;
  readonly status?: number;
  /** Content type of the answer; unset: JSON. */
  readonly answers?: string;
}

const text = { type: "string" } as const;
const listed = (changes: Readonly<Record<string, string>>): string =>
  Object.entries(changes)
    .map(([name, meaning]) => `- \`${name}\`: ${meaning}`)
    .join("\n");
const switched = { request: z.object({ enabled: z.boolean() }), example: { enabled: true } };

const OPERATIONS: Readonly<Record<string, SandboxOperation>> = {
  [`post ${IOS_PREFIX}/purchases`]: {
    summary: "Buy; the answer is what the app sends of it, signed",
    request: bought,
    example: { transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }] },
  },
  [`get ${IOS_PREFIX}/purchases`]: {
    summary: "What the app would send now, for each person",
  },
  [`get ${IOS_PREFIX}/purchases/{originalTransactionIdentifier}`]: {
    summary: "What the app would send now, of the person with that purchase",
  },
  [`post ${IOS_PREFIX}/purchases/{originalTransactionIdentifier}`]: {
    summary: "Change a purchase: renew, cancel, fail its billing, refund it, …",
    description: listed(IOS_CHANGES),
    request: changeSchema,
    example: { change: "refund" },
  },
  [`post ${IOS_PREFIX}/notifications`]: {
    summary: "Switch the App Store's notifications off or on",
    ...switched,
  },
  [`post ${IOS_PREFIX}/server-api`]: {
    summary: "Make the App Store Server API fail; null ends it",
    request: z.object({ fails: serverApiFault.nullable() }),
    example: { fails: null },
  },
  [`get ${IOS_PREFIX}/root`]: {
    summary: "SHA-256 of the store's root certificate, for IOS_STORE_TRUSTED_ROOTS",
  },
  [`post ${ANDROID_PREFIX}/purchases`]: {
    summary: "Buy; the answer holds the purchase token",
    request: sandboxPurchase,
    example: DEMO_PURCHASE,
    status: 201,
  },
  [`get ${ANDROID_PREFIX}/purchases`]: {
    summary: "All purchases, with their tokens",
  },
  [`get ${ANDROID_PREFIX}/purchases/{purchaseToken}`]: {
    summary: "A purchase as the store has it",
  },
  [`post ${ANDROID_PREFIX}/purchases/{purchaseToken}`]: {
    summary: "Change a purchase: renew, cancel, pause, replace, refund it, …",
    description: listed(ANDROID_CHANGES),
    request: androidChange,
    example: { change: "refund" },
  },
  [`post ${ANDROID_PREFIX}/notifications`]: {
    summary: "Switch the pushes of Google's notifications off or on",
    ...switched,
  },
  [`post ${EXPORTS_PATH}`]: {
    summary: "Sell to persons in both stores; the answer is a rented service's export of them",
    request: exportRequest,
    example: { app: DEMO.bundleIdentifier, persons: 10 },
    answers: "text/csv",
  },
  [`get ${CLOCK_PATH}`]: {
    summary: "The time of the service and of both stores",
  },
  [`post ${CLOCK_PATH}`]: {
    summary: "Move the clock ahead, or reset it and forget everything; what falls due on the way happens",
    request: moveRequest,
    example: { advance: "P1D" },
  },
};

const requestSchema = (schema: z.ZodType): object => {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "any",
  });
  return json;
};

const json = (schema: object, example?: unknown) => ({
  content: { "application/json": { schema, ...(example !== undefined && { example }) } },
});

const refused = {
  description: "It cannot be done; the message says why.",
  ...json({ type: "object", properties: { message: text } }),
};

const documented = (
  path: string,
  { summary, description, request, example, status = 200, answers = "application/json" }: SandboxOperation,
): object => {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: text,
  }));
  return {
    tags: Object.entries(TAGS).flatMap(([prefix, { name }]) => (path.startsWith(prefix) ? [name] : [])),
    summary,
    ...(description !== undefined && { description }),
    security: [],
    ...(parameters.length > 0 && { parameters }),
    ...(request !== undefined && {
      requestBody: { required: true, ...json(requestSchema(request), example) },
    }),
    responses: {
      [status]: { description: "Done", content: { [answers]: {} } },
      400: refused,
      ...(parameters.length > 0 && { 404: refused, 409: refused }),
    },
  };
};

/** OpenAPI 3.0 document of the local run's own endpoints: the sandbox stores, and the clock. */
const sandboxDocument = (): object => {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = "", path = ""] = route.split(" ");
    paths[path] = { ...paths[path], [method]: documented(path, operation) };
  }
  return {
    openapi: "3.0.3",
    info: {
      title: "Sandbox stores and clock of a local run",
      version: "1.0.0",
      description: "Only a local run has these; the deployed service does not.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "/" }],
    tags: Object.values(TAGS),
    paths,
  };
};

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
