import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { keys } from "../../../lib/table/keys.ts";
import { makeChain } from "../../../sandbox/ios-store/signing.ts";
import { startReceiver, type Receiver } from "../../delivery/receiver.ts";
import { serviceForFile } from "../../support/service-for-file.ts";
import { APPLE_ID, aSignedNotification } from "./signed-notification.ts";

const PATH = "/v1/notifications/ios-store";
const CONTENT_TYPE = "application/json; charset=utf-8";

/** The service that takes notifications after this one. */
let old: Receiver;
const { service, app } = serviceForFile(async () => {
  old = await startReceiver();
  return {
    environment: { DESTINATIONS: "any" },
    options: { iosStore: { appAppleIdentifier: APPLE_ID, notifications: { forwardTo: old.url } } },
  };
});
afterAll(() => old?.close());

const payloadOf = (chain = service.chain): string => aSignedNotification({ chain }, app, "TEST");

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
