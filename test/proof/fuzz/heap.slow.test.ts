import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { hostileBodies } from "../../../testing/support/metered/hostile-bodies.ts";
import { median } from "../../../testing/support/metered/measuring.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { readAssembly, Template } from "../../../local/lambda/template.ts";
import { endpoints, type EndpointName } from "../../../lib/contract/endpoints.ts";
import { apiGatewayEvent } from "../../../testing/index.ts";
import { assemblyFolder, SERVICE_APP } from "../../../testing/support/local-gateway.ts";
import { inLength, LONG, SEED } from "../../../testing/support/proof.ts";
import {
  startTestService,
  type TestApplication,
  type TestService,
} from "../../../testing/support/service.ts";
import type { Target } from "./attack.ts";
import { APPLE_ID, attackOf } from "./attacks.ts";
import { choicesFrom } from "./choices.ts";
import { PUSHED, startGoogle } from "./google.ts";
import { genuinePush } from "./pushes.ts";
import { chainNamed } from "./signing.ts";

/**
 * Heap that the functions' bundles keep after serving requests, in a process of its own, after garbage collection.
 * No two rounds send the same requests, so a list of seen requests would grow.
 */
const ATTACKS = inLength(60, 500);
const ROUNDS = inLength(10, 24);
/** Rounds in which most code runs for the first time and is compiled, which costs up to a megabyte. */
const WARM_UP_ROUNDS = 4;
/**
 * Allowed growth in the middle one of the rounds, each of about two hundred requests and seven megabytes. What keeps
 * requests grows in every round; code that a rare request runs for the first time grows the heap in one of them.
 */
const MAY_GROW_BYTES = 150 * 1024;
/** Compiled code and type feedback are part of the heap and grow while code runs. These flags turn them off. */
const WITHOUT_COMPILER = [
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--no-lazy-feedback-allocation",
  "--no-flush-bytecode",
];
const HONEST = 15;
const HOSTILE_CHARACTERS = 200_000;

const WORKER = fileURLToPath(new URL("invoke-again.cjs", import.meta.url));
const run = promisify(execFile);

interface Invocation {
  readonly name: string;
  readonly event: object;
}

let service: TestService;
let app: TestApplication;
let google: Awaited<ReturnType<typeof startGoogle>>;
const chain = chainNamed("store");

beforeAll(async () => {
  service = await startTestService({ IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root) });
  const name = "com.example.target";
  app = await service.application({
    bundleIdentifier: name,
    packageName: name,
    iosStore: { appAppleIdentifier: APPLE_ID },
    androidNotifications: PUSHED,
  });
  google = await startGoogle("com.example.other");
}, 90_000);
afterAll(async () => {
  await service.stop();
  await google.keys.close();
});

/** The deployed bundles of the endpoints' functions and of the authorizer. */
const bundles = async (): Promise<Record<string, string>> => {
  const assembly = readAssembly(await assemblyFolder(SERVICE_APP));
  const functions = new Template(assembly.document, { region: "us-east-1" }).resourcesOf(
    "AWS::Lambda::Function",
    z.object({ Code: z.object({ S3Key: z.string() }) }),
  );
  const names = ["authorizeCredential", ...Object.keys(endpoints)];
  return Object.fromEntries(
    names.map((name) => {
      const [, found] =
        [...functions].find(([id]) => id.toLowerCase().startsWith(`${name.toLowerCase()}function`)) ?? [];
      if (found === undefined) throw new Error(`The stack has no function ${name}.`);
      return [name, join(assembly.codeFolder(found.Code.S3Key), "index.cjs")];
    }),
  );
};

const caller = () => ({ applicationIdentifier: app.identifier, keyIdentifier: "test" });
const posted = (name: EndpointName, body: string | null, isBase64Encoded = false): Invocation => ({
  name,
  event: apiGatewayEvent(name, {}, caller(), { body, isBase64Encoded }),
});
const pushed = (body: string, authorization: string | undefined): Invocation => ({
  name: "receiveAndroidStoreNotification",
  event: apiGatewayEvent("receiveAndroidStoreNotification", {
    body,
    ...(authorization !== undefined && { headers: { Authorization: authorization } }),
  }),
});
/** @param pathSegment percent-encoded, right or wrong */
const read = (pathSegment: string): Invocation => ({
  name: "readAccountEntitlements",
  event: apiGatewayEvent(
    "readAccountEntitlements",
    { path: { applicationAccountIdentifier: "" } },
    caller(),
    { pathParameters: { applicationAccountIdentifier: pathSegment } },
  ),
});
const authorize = (authorizationToken: string): Invocation => ({
  name: "authorizeCredential",
  event: {
    type: "TOKEN",
    authorizationToken,
    methodArn: "arn:aws:execute-api:us-east-1:123456789012:api/v1/GET/v1/customers/a/entitlements",
  },
});

const honestPush = (target: Target): Invocation => {
  const { body, authorization } = genuinePush(target);
  return pushed(body, authorization);
};

/** The fuzzer's attacks, as the gateway passes them on. */
const attacks = (target: Target, from: number): Invocation[] =>
  Array.from({ length: ATTACKS }, (_, index) =>
    attackOf(target, choicesFrom(SEED + (from + index) * 7_919), from + index),
  )
    .filter(({ body }) => (body?.length ?? 0) < 256 * 1024)
    .flatMap(({ endpoint, body, path, headers }) => {
      const [, token] = headers.find(([name]) => name.toLowerCase() === "authorization") ?? [];
      if (endpoint === "receiveAndroidStoreNotification")
        return pushed(body === null ? "" : body.toString("utf8"), token);
      return [
        endpoint === "readAccountEntitlements"
          ? read(path.split("/")[3] ?? "")
          : posted(endpoint, body === null ? null : body.toString("utf8")),
        ...(token === undefined ? [] : [authorize(token)]),
      ];
    });

test("no function keeps anything of the requests it has served", async () => {
  const purchaseToken = app.buyOnAndroid();
  // Linked before the attacks, of which a few name another account: the first one to link it would have it.
  expect((await app.linkAndroid(purchaseToken, "known")).status).toBe(200);
  const target: Target = {
    bundleIdentifier: app.bundleIdentifier,
    packageName: app.packageName,
    key: app.key,
    readOnlyKey: app.key,
    chain,
    purchaseToken,
    push: google.push,
    putAnswer: (token, answer) =>
      service.android.put(token, {
        packageName: app.packageName,
        productKind: "subscription",
        answer: Object(answer),
      }),
  };
  const purchase = JSON.stringify({
    packageName: app.packageName,
    purchaseToken,
    productKind: "subscription",
    applicationAccountIdentifier: "known",
  });
  const round = (number: number): Invocation[] => [
    ...attacks(target, number * ATTACKS),
    ...hostileBodies(HOSTILE_CHARACTERS, {
      chain: service.chain,
      request: app.device().request({}, {}),
    }).map(({ body, isBase64Encoded }) => posted("synchronizeIosStorePurchases", body, isBase64Encoded)),
    ...Array.from({ length: HONEST }, () => JSON.stringify(app.device().request({}, {}))).flatMap((body) => [
      posted("synchronizeIosStorePurchases", body),
      posted("linkAndroidStoreCustomer", purchase),
      honestPush(target),
      read("known"),
      authorize(`Bearer ${app.key}`),
    ]),
  ];
  const folder = mkdtempSync(join(tmpdir(), "heap-"));
  try {
    const rounds = Array.from({ length: ROUNDS }, (_, number) => {
      const file = join(folder, `${number}.json`);
      writeFileSync(file, JSON.stringify(round(number)));
      return file;
    });
    const file = join(folder, "rounds.json");
    writeFileSync(file, JSON.stringify({ bundles: await bundles(), rounds }));
    const { stdout } = await run(process.execPath, ["--expose-gc", ...WITHOUT_COMPILER, WORKER, file], {
      env: {
        PATH: process.env["PATH"],
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "local",
        AWS_SECRET_ACCESS_KEY: "local",
        AWS_ENDPOINT_URL_DYNAMODB: process.env["AWS_ENDPOINT_URL_DYNAMODB"],
        POWERTOOLS_SERVICE_NAME: "customer-entitlements",
        TABLE_NAME: service.table.name,
        GOOGLE_CERTIFICATES_URL: google.keys.url,
        ANDROID_PUBLISHER_URL: `${service.address}/sandbox/android-publisher`,
        // The hostile bodies replay a genuine app transaction, signed under the service's chain.
        IOS_STORE_TRUSTED_ROOTS: [chain, service.chain].map(({ root }) => fingerprintOf(root)).join(","),
      },
    });
    const { heaps, answers } = z
      .object({ heaps: z.array(z.number()), answers: z.record(z.string(), z.number()) })
      .parse(JSON.parse(stdout));
    const growths = heaps
      .slice(WARM_UP_ROUNDS)
      .map((heap, index) => heap - (heaps[WARM_UP_ROUNDS - 1 + index] ?? NaN));
    if (LONG) process.stdout.write(`heap: SEED=${SEED}, ${JSON.stringify({ heaps, answers })}\n`);
    expect(answers["200"]).toBeGreaterThanOrEqual(4 * HONEST * ROUNDS);
    expect(answers["400"]).toBeGreaterThanOrEqual(30 * ROUNDS);
    expect(median(growths)).toBeLessThan(MAY_GROW_BYTES);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 900_000);
