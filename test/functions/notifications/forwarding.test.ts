import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { keys } from "../../../lib/table/keys.ts";
import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { anEnvelope } from "../../../testing/support/stores/ios-store.ts";
import {
  startTestService,
  type TestApplication,
  type TestService,
} from "../../../testing/support/service.ts";
import { startReceiver, type Receiver } from "../../delivery/receiver.ts";

const PATH = "/v1/notifications/ios-store";
const APPLE_ID = 1_234_567_890;
const CONTENT_TYPE = "application/json; charset=utf-8";

/** The service that takes notifications after this one. */
let old: Receiver;
let service: TestService;
let app: TestApplication;

beforeAll(async () => {
  old = await startReceiver();
  service = await startTestService({ DESTINATIONS: "any" });
  app = await service.application({
    iosStore: { appAppleIdentifier: APPLE_ID, notifications: { forwardTo: old.url } },
  });
}, 90_000);
// The service's end expects that no role was exceeded.
afterAll(async () => {
  await service?.stop();
  await old?.close();
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
  old.answer = () => null;
  const began = performance.now();
  expect((await post(body)).status).toBe(200);
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(old.attempts).toBe(0);
  expect(await waiting()).toMatchObject([{ body, contentType: CONTENT_TYPE, tries: 0 }]);

  old.answer = () => 500;
  const failed = await service.deliverMessages();
  expect(old.attempts).toBeGreaterThan(0);
  expect(JSON.stringify(failed)).toContain("status 500");
  expect(await waiting()).toMatchObject([{ body, tries: old.attempts }]);

  old.answer = () => 204;
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
  expect(old.raw).toEqual(
    [next, body].map((sent) => ({ body: Buffer.from(sent), contentType: CONTENT_TYPE })),
  );
  expect(await waiting()).toEqual([]);

  const [, content = "", signature = ""] = signedPayload.split(".");
  const written = [...service.output, ...service.log, ...service.requests, failed, done].map((line) =>
    JSON.stringify(line),
  );
  expect(written.some((line) => line.includes("messages delivered"))).toBe(true);
  for (const part of [content, signature])
    expect(written.filter((line) => line.includes(part.slice(0, 40)))).toEqual([]);
}, 120_000);
