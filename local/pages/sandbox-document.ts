import * as z from "zod";
import { androidChange } from "../../sandbox/android-store/shop/changes.ts";
import { sandboxPurchase } from "../../sandbox/android-store/shop/purchases.ts";
import { exportRequest } from "../../sandbox/exports/endpoint.ts";
import { changeSchema } from "../../sandbox/ios-store/shop/change.ts";
import { bought } from "../../sandbox/ios-store/shop/purchase.ts";
import { serverApiFault } from "../../sandbox/ios-store/server-api/faults.ts";
import { CLOCK_PATH, moveRequest } from "../clock/clock-endpoint.ts";
import { DEMO } from "../demo.ts";
import { ANDROID_PREFIX, EXPORTS_PATH, IOS_PREFIX } from "../sandbox-paths.ts";

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
  readonly request?: z.ZodType;
  readonly example?: unknown;
  readonly status?: number;
  /** Content type of the answer; unset: JSON. */
  readonly answers?: string;
}

const text = { type: "string" } as const;
const switched = z.object({ enabled: z.boolean() });

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
    request: changeSchema,
    example: { change: "refund" },
  },
  [`post ${IOS_PREFIX}/notifications`]: {
    summary: "Switch the App Store's notifications off or on",
    request: switched,
    example: { enabled: true },
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
    example: {
      packageName: DEMO.packageName,
      productKind: "subscription",
      productIdentifier: DEMO.androidSubscription,
      basePlanIdentifier: DEMO.androidBasePlan,
    },
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
    request: androidChange,
    example: { change: "refund" },
  },
  [`post ${ANDROID_PREFIX}/notifications`]: {
    summary: "Switch the pushes of Google's notifications off or on",
    request: switched,
    example: { enabled: true },
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
  { summary, request, example, status = 200, answers = "application/json" }: SandboxOperation,
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
export const sandboxDocument = (): object => {
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
