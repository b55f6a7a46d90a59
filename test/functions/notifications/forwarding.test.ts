import { createServer, type Server } from "node:http";
import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { keys } from "../../../lib/table/keys.ts";
import { close, listen } from "../../../local/server.ts";
import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { anEnvelope } from "../../../testing/support/stores/ios-store.ts";
import {
  startTestService,
  type TestApplication,
  type TestService,
} from "../../../testing/support/service.ts";

const PATH = "/v1/notifications/ios-store";
const APPLE_ID = 1_234_567_890;
const CONTENT_TYPE = "application/json; charset=utf-8";

/** The service that takes notifications after this one. `status` of its answers; null: it hangs. */
const got: { readonly body: string; readonly contentType: string | undefined }[] = [];
let attempts = 0;
let status: number | null = null;
let old: Server;
let service: TestService;
let app: TestApplication;

beforeAll(async () => {
  old = createServer((request, response) => {
    attempts += 1;
    void (async () => {
      const body = Buffer.concat(await request.toArray()).toString();
      if (status === null) return;
      if (status < 300) got.push({ body, contentType: request.headers["content-type"] });
      response.writeHead(status).end();
    })();
  });
  const port = await listen(old, 0);
  service = await startTestService({ DESTINATIONS: "any" });
  const forwardTo = `http://127.0.0.1:${port}/apple`;
  app = await service.application({
    iosStore: { appAppleIdentifier: APPLE_ID, notifications: { forwardTo } },
  });
}, 90_000);
// The service's end expects that no role was exceeded.
afterAll(async () => {
  await service?.stop();
  await close(old);
});

const payloadOf = (chain = service.chain): string =>
  signJws(
    anEnvelope({
      notificationType: "TEST",
      signedDate: Date.now() - 500,
      data: { appAppleId: APPLE_ID, bundleId: app.bundleIdentifier, environment: "Production" },
    }),
    chain,
  );

const post = (body: string) =>
  service.send("POST", PATH, { body, headers: { "Content-Type": CONTENT_TYPE } });

const waiting = async (): Promise<readonly Record<string, unknown>[]> =>
  (await service.table.items()).filter(({ sk }) => String(sk).startsWith("FORWARD#"));

test("a forged notification is refused, and not forwarded", async () => {
  const forged = JSON.stringify({ signedPayload: payloadOf(makeChain()) });
  expect((await post(forged)).status).toBe(400);
  expect(await waiting()).toEqual([]);
});

test("a notification is answered at once, and forwarded as it came", async () => {
  const signedPayload = payloadOf();
  const body = `{ "signedPayload" :\n "${signedPayload}", "more": "é" }`;
  // The other service hangs.
  const began = performance.now();
  expect((await post(body)).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(attempts).toBe(0);
  expect(await waiting()).toMatchObject([{ body, contentType: CONTENT_TYPE, tries: 0 }]);

  status = 500;
  const failed = await service.deliverMessages();
  expect(attempts).toBeGreaterThan(0);
  expect(JSON.stringify(failed)).toContain("status 500");
  expect(await waiting()).toMatchObject([{ body, tries: attempts }]);

  status = 204;
  const bundle = { application: app.identifier, bundleIdentifier: app.bundleIdentifier };
  await service.table.client.send(
    new UpdateCommand({
      TableName: service.table.name,
      Key: { ...keys.forwardHealth(bundle) },
      UpdateExpression: "SET pausedUntil = :over",
      ExpressionAttributeValues: { ":over": 0 },
    }),
  );
  const next = JSON.stringify({ signedPayload: payloadOf() });
  expect((await post(next)).status).toBe(200);
  const done = await service.deliverMessages();
  // One notification shows that the service is back; then what waits follows.
  expect(got).toEqual([next, body].map((sent) => ({ body: sent, contentType: CONTENT_TYPE })));
  expect(await waiting()).toEqual([]);

  const [, content = "", signature = ""] = signedPayload.split(".");
  const written = [...service.output, ...service.log, ...service.requests, failed, done].map((line) =>
    JSON.stringify(line),
  );
  expect(written.some((line) => line.includes("messages delivered"))).toBe(true);
  for (const part of [content, signature])
    expect(written.filter((line) => line.includes(part.slice(0, 40)))).toEqual([]);
}, 120_000);
