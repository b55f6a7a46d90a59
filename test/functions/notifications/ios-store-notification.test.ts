import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { METRICS } from "../../../lib/contract/metrics.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notification-times.ts";
import { signJws } from "../../../sandbox/ios-store/signing.ts";
import { anEnvelope } from "../../../testing/support/stores/ios-store.ts";
import {
  startTestService,
  type Answer,
  type TestApplication,
  type TestService,
} from "../../../testing/support/service.ts";

const DAY = 86_400_000;
const APPLE_ID = 1_234_567_890;
const PATH = "/v1/notifications/ios-store";

let service: TestService;
let app: TestApplication;
beforeAll(async () => {
  service = await startTestService();
  app = await service.application();
}, 90_000);
afterAll(() => service.stop());

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.send("POST", PATH, { body, headers });

/** A signed notification about the app, with these JWS. */
const aSigned = (parts: object, notificationType = "DID_RENEW"): string =>
  signJws(
    anEnvelope({
      notificationType,
      signedDate: Date.now() - 500,
      data: {
        appAppleId: APPLE_ID,
        bundleId: app.bundleIdentifier,
        environment: "Production",
        ...parts,
      },
    }),
    service.chain,
  );

const aRenewal = (originalTransactionId: string, fields: object): string =>
  signJws(
    {
      originalTransactionId,
      productId: "monthly",
      autoRenewProductId: "monthly",
      autoRenewStatus: 1,
      environment: "Production",
      signedDate: Date.now() - 500,
      ...fields,
    },
    service.chain,
  );

const notify = (parts: object, notificationType?: string): Promise<Answer> =>
  post({ signedPayload: aSigned(parts, notificationType) });

const codeOf = ({ status, body }: Answer) => [status, body.error];

/** Waits for this many lines of the functions with the member, which may arrive after the answer. */
const linesWith = async (member: string, count: number): Promise<Record<string, unknown>[]> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    // Warnings are on the other stream.
    const lines = [...service.output, ...service.log]
      .filter((line) => line.includes("{"))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as Record<string, unknown>)
      .filter((line) => member in line);
    if (lines.length >= count) return lines;
    await sleep(20);
  }
  throw new Error("There are no such lines.");
};

const aSubscription = (identifier: string, expiresDate: number) => ({
  transactionIdentifier: identifier,
  originalTransactionIdentifier: identifier,
  purchaseDate: expiresDate - 30 * DAY,
  expiresDate,
});

test("a notification is counted, logged by type, and its time is kept", async () => {
  const [signedTransactionInfo] = app.device().request({}).signedTransactions;
  expect(await notify({ signedTransactionInfo }, "SUBSCRIBED").then(codeOf)).toEqual([200, undefined]);
  expect(await notify({}, "TEST").then(codeOf)).toEqual([200, undefined]);
  const counted = await linesWith(METRICS.notifications, 2);
  expect(counted.map(({ Store, Outcome }) => [Store, Outcome])).toEqual([
    ["ios-store", "STORED"],
    ["ios-store", "UNUSED"],
  ]);
  expect(await linesWith("notificationType", 2)).toMatchObject([
    {
      endpoint: "receive-ios-store-notification",
      notificationType: "SUBSCRIBED",
      application: app.identifier,
      outcome: "OK",
    },
    { notificationType: "TEST", outcome: "OK" },
  ]);
  const kept = (await service.table.items()).filter(({ pk }) => pk === "NOTIFICATIONS");
  expect(kept).toMatchObject([
    {
      sk: `${app.identifier}#ios-store#production#${app.bundleIdentifier}`,
      lastSignedAt: expect.any(Number),
    },
  ]);
});

test("a grace period counts as soon as the App Store says it", async () => {
  const expiresDate = Date.now() - DAY;
  const { signedTransactions, ...request } = app
    .device()
    .request(aSubscription("700000000000101", expiresDate));
  await app.link({ ...request, signedTransactions }, "grace");
  expect((await app.read("grace")).body.entitlements).toMatchObject([{ status: "expired" }]);
  const [signedTransactionInfo] = signedTransactions;
  const signedRenewalInfo = aRenewal("700000000000101", {
    renewalDate: expiresDate,
    isInBillingRetryPeriod: true,
    gracePeriodExpiresDate: Date.now() + DAY,
  });
  const answer = await notify({ signedTransactionInfo, signedRenewalInfo }, "DID_FAIL_TO_RENEW");
  expect([answer.status, answer.body]).toEqual([200, {}]);
  expect((await app.read("grace")).body.entitlements).toMatchObject([
    { status: "grace_period", active: true, willRenew: true },
  ]);
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
  expect(await linesWith(METRICS.silentApplications, 1)).toMatchObject([{ [METRICS.silentApplications]: 1 }]);
  expect(await linesWith("lastSignedAt", 1)).toMatchObject([
    { message: "notifications silent", ...from, lastSignedAt: new Date(lastSignedAt).toISOString() },
  ]);
});

test("unsigned is 400, unregistered is 404, and neither is stored", async () => {
  const before = await service.table.items();
  const earlier = await linesWith(METRICS.notifications, 0);
  const { length: refused } = await linesWith(METRICS.notificationsRefused, 0);
  const forged = `${aSigned({}).slice(0, -86)}${"A".repeat(86)}`;
  expect(codeOf(await post({ signedPayload: forged }))).toEqual([400, "INVALID_NOTIFICATION"]);
  expect(codeOf(await notify({ signedTransactionInfo: "a.b.c" }))).toEqual([400, "INVALID_NOTIFICATION"]);
  expect(codeOf(await notify({ bundleId: "com.example.nobody" }))).toEqual([404, "APPLICATION_NOT_FOUND"]);
  const counted = await linesWith(METRICS.notifications, earlier.length + 3);
  expect(counted.slice(earlier.length).map(({ Outcome }) => Outcome)).toEqual([
    "FORGED",
    "INVALID_NOTIFICATION",
    "APPLICATION_NOT_FOUND",
  ]);
  expect(await linesWith(METRICS.notificationsRefused, refused + 1)).toHaveLength(refused + 1);
  expect(codeOf(await service.send("GET", PATH))).toEqual([404, "ROUTE_NOT_FOUND"]);
  expect(await service.table.items()).toEqual(before);
  expect(`${service.output.join()}${service.log.join()}`).not.toMatch(/eyJ/);
});

describe("a body", () => {
  test.each<[string, unknown, string]>([
    ["without a payload", {}, "signedPayload"],
    ["with a payload that is no text", { signedPayload: {} }, "signedPayload"],
    ["that is a list", [], ""],
    ["that is no JSON", "signedPayload", ""],
    ["of 64 KiB of nesting", `{"signedPayload":${"[".repeat(65_000)}`, ""],
    ["of 64 KiB of nested objects", '{"a":'.repeat(13_000), ""],
  ])("%s is 400 with its path", async (_, body, path) => {
    const { status, body: answer } = await post(body);
    expect([status, answer.error, answer.issues?.[0]?.path]).toEqual([400, "INVALID_REQUEST", path]);
  });

  const padded = (bytes: number): string => {
    const members = `{"signedPayload":${JSON.stringify(aSigned({}, "TEST"))},"padding":""}`;
    return members.replace(/""\}$/, `"${"x".repeat(bytes - members.length)}"}`);
  };
  test.each([
    ["of 65,536 bytes is read", 65_536, [200, undefined]],
    ["of a byte more is refused", 65_537, [400, "INVALID_REQUEST"]],
  ])("%s, compressed or not", async (_, bytes, expected) => {
    const text = padded(bytes);
    expect(Buffer.byteLength(text)).toBe(bytes);
    expect(codeOf(await post(text))).toEqual(expected);
    expect(codeOf(await post(gzipSync(text), { "Content-Encoding": "gzip" }))).toEqual(expected);
  });
});
