import { gzipSync } from "node:zlib";
import { METRICS } from "../../../lib/contract/metrics.ts";
import { DAY } from "../../../lib/duration.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notifications.ts";
import type { Answer } from "../../../testing/support/service.ts";
import { serviceForFile } from "../../support/service-for-file.ts";
import { aSignedNotification } from "./signed-notification.ts";

const PATH = "/v1/notifications/ios-store";

const { service, app, log } = serviceForFile();

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.send("POST", PATH, { body, headers });

/** A signed notification about the app, with these JWS. */
const aSigned = (parts: object, notificationType = "DID_RENEW"): string =>
  aSignedNotification(service, app, notificationType, parts);
const notify = (parts: object, notificationType?: string): Promise<Answer> =>
  post({ signedPayload: aSigned(parts, notificationType) });
const codeOf = ({ status, body }: Answer) => [status, body.error];
const counted = (Outcome: string): number => log.measured("notifications", { Store: "ios-store", Outcome });

test("a notification is counted, logged by type, and its time is kept", async () => {
  const [signedTransactionInfo] = app.device().request({}).signedTransactions;
  const subscribed = await log.lineOf(await notify({ signedTransactionInfo }, "SUBSCRIBED"));
  expect(subscribed).toMatchObject({
    endpoint: "receive-ios-store-notification",
    notificationType: "SUBSCRIBED",
    application: app.identifier,
    outcome: "OK",
  });
  const tested = await log.lineOf(await notify({}, "TEST"));
  expect(tested).toMatchObject({ notificationType: "TEST", outcome: "OK" });
  expect([counted("STORED"), counted("UNUSED")]).toEqual([1, 1]);
  const kept = (await service.table.items()).filter(({ pk }) => pk === "NOTIFICATIONS");
  const sk = `${app.identifier}#ios-store#production#${app.bundleIdentifier}`;
  expect(kept).toMatchObject([{ sk, lastSignedAt: expect.any(Number) }]);
});

test("a bundle whose App Store has fallen silent is counted and logged", async () => {
  const silent = await service.application();
  const from = {
    application: silent.identifier,
    store: "ios-store",
    environment: "production",
    bundleOrPackage: silent.bundleIdentifier,
  } as const;
  const lastSignedAt = Date.now() - 2 * DAY;
  await createNotificationTimes(service.table).raise(from, lastSignedAt);
  expect(await service.watchNotifications()).toMatchObject({ status: "succeeded", payload: { silent: 1 } });
  const line = await log.lineWith(({ message }) => message === "notifications silent");
  expect(line).toMatchObject({ ...from, lastSignedAt: new Date(lastSignedAt).toISOString() });
  await log.lineWith((counted) => counted[METRICS.silentApplications] === 1);
});

test.each<[what: string, status: number, code: string, act: () => Promise<Answer>, outcome?: string]>([
  [
    "forged",
    400,
    "INVALID_NOTIFICATION",
    () => post({ signedPayload: `${aSigned({}).slice(0, -86)}${"A".repeat(86)}` }),
    "FORGED",
  ],
  ["with a bad part", 400, "INVALID_NOTIFICATION", () => notify({ signedTransactionInfo: "a.b.c" })],
  ["of an unknown bundle", 404, "APPLICATION_NOT_FOUND", () => notify({ bundleId: "com.example.nobody" })],
])("one that is %s is refused, counted and not stored", async (_, status, code, act, outcome = code) => {
  const before = await service.table.items();
  const [refused, count] = [log.measured("notificationsRefused"), counted(outcome)];
  const answer = await act();
  expect(codeOf(answer)).toEqual([status, code]);
  await log.lineOf(answer);
  await log.lineWith(() => counted(outcome) === count + 1);
  expect(log.measured("notificationsRefused")).toBe(refused + (outcome === "INVALID_NOTIFICATION" ? 1 : 0));
  expect(await service.table.items()).toEqual(before);
  expect(log.text()).not.toMatch(/eyJ/);
});

test.each([
  ["of 65,536 bytes is read", 65_536, [200, undefined]],
  ["of a byte more is refused", 65_537, [400, "INVALID_REQUEST"]],
])("a body %s, compressed or not", async (_, bytes, expected) => {
  const members = `{"signedPayload":${JSON.stringify(aSigned({}, "TEST"))},"padding":""}`;
  const text = members.replace(/""\}$/, `"${"x".repeat(bytes - members.length)}"}`);
  expect(codeOf(await post(text))).toEqual(expected);
  expect(codeOf(await post(gzipSync(text), { "Content-Encoding": "gzip" }))).toEqual(expected);
});
