import {
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
  type PushKey,
} from "../../../testing/support/stores/android-store.ts";
import type { Answer, TestApplication } from "../../../testing/support/service.ts";
import { serviceForFile } from "../../support/service-for-file.ts";

const PATH = "/v1/notifications/android-store";

let keyServer: KeyServer;
let key: PushKey;
const { service, app, log } = serviceForFile(async () => {
  key = await makePushKey(Date.now, "a");
  keyServer = await startKeyServer(key);
  return {
    environment: { GOOGLE_CERTIFICATES_URL: keyServer.url },
    options: { androidStore: { notifications: { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE } } },
  };
});
/** Expects no pushes. */
let other: TestApplication;
beforeAll(async () => void (other = await service.application()));
afterAll(() => keyServer?.close());

/** As Pub/Sub pushes it. */
const bodyOf = (notification: object): object => {
  const text = JSON.stringify({ version: "1.0", eventTimeMillis: "1", ...notification });
  const data = Buffer.from(text).toString("base64");
  return {
    message: { attributes: {}, data, messageId: "136969346945", publishTime: "2026-01-15T12:00:00Z" },
    subscription: "projects/trails/subscriptions/play-push",
  };
};
const send = (body: unknown, token: string | null): Promise<Answer> =>
  service.send("POST", PATH, {
    body,
    ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }),
  });
const push = async (notification: object, claims: Record<string, unknown> = {}): Promise<Answer> =>
  send(bodyOf({ packageName: app.packageName, ...notification }), await key.sign(claims));
const about = (purchaseToken: string, notificationType: number) => ({
  subscriptionNotification: { version: "1.0", notificationType, purchaseToken },
});
const counted = (Outcome: string): number =>
  log.measured("notifications", { Store: "android-store", Outcome });

test("pushes alone keep a linked subscription up to date", async () => {
  const token = app.buyOnAndroid();
  expect(await push(about(token, 4))).toMatchObject({ status: 200, body: {} });
  expect((await app.linkAndroid(token, "user-1")).body.entitlements).toMatchObject([{ status: "active" }]);
  for (const [change, status] of [
    ["renew", "active"],
    ["grace", "grace_period"],
    ["hold", "billing_retry"],
    ["refund", "expired"],
  ] as const) {
    service.android.change(token, { change });
    expect((await push(about(token, 2))).status).toBe(200);
    expect((await app.read("user-1")).body.entitlements).toMatchObject([{ identifier: "premium", status }]);
  }
  expect(keyServer.requests()).toBe(1);
});

test("each is one line and one count, without token or purchase", async () => {
  const token = app.buyOnAndroid();
  expect(await log.lineOf(await push(about(token, 4)))).toMatchObject({
    endpoint: "receive-android-store-notification",
    store: "android-store",
    application: app.identifier,
    notificationType: "subscription 4",
    purchases: 1,
    outcome: "OK",
    status: 200,
  });
  const before = [counted("UNUSED"), counted("INVALID_CREDENTIAL")];
  const tested = await log.lineOf(await push({ testNotification: { version: "1.0" } }));
  expect(tested).toMatchObject({ notificationType: "test", outcome: "OK" });
  const refused = await log.lineOf(await push(about(token, 4), { email: "stranger@example.com" }));
  expect(refused).toMatchObject({
    refusedBecause: "push_token_service_account",
    notificationType: "subscription 4",
    outcome: "INVALID_CREDENTIAL",
    status: 401,
  });
  expect([counted("UNUSED"), counted("INVALID_CREDENTIAL")]).toEqual(before.map((count) => count + 1));
  expect(counted("STORED")).toBeGreaterThan(0);
  for (const secret of [token, SERVICE_ACCOUNT, "stranger@example.com", AUDIENCE, "eyJ"])
    expect(log.text()).not.toContain(secret);
});

test.each<[why: string, status: number, code: string, act: () => Promise<Answer>]>([
  ["without a token", 401, "INVALID_CREDENTIAL", () => send(bodyOf({ packageName: app.packageName }), null)],
  ["with an API key", 401, "INVALID_CREDENTIAL", () => send(bodyOf({}), app.key)],
  ["with another audience", 401, "INVALID_CREDENTIAL", () => push({}, { aud: "https://example.com" })],
  [
    "for a package that expects nobody",
    401,
    "INVALID_CREDENTIAL",
    () => push({ packageName: other.packageName }),
  ],
  ["for an unknown package", 404, "APPLICATION_NOT_FOUND", () => push({ packageName: "com.example.nobody" })],
  ["without a message", 400, "INVALID_REQUEST", async () => send({}, await key.sign())],
  [
    "with more than 64 KiB",
    400,
    "INVALID_REQUEST",
    async () => send({ a: "a".repeat(65_536) }, await key.sign()),
  ],
  [
    "while the store does not answer",
    503,
    "STORE_UNAVAILABLE",
    () => {
      service.android.failNext("publisher", { status: 500 }, { status: 500 });
      return push(about(app.buyOnAndroid(), 4));
    },
  ],
])("is refused %s: %i %s", async (_, status, code, act) => {
  const items = await service.table.items();
  const answer = await act();
  expect([answer.status, answer.body.error]).toEqual([status, code]);
  expect(answer.headers.has("retry-after")).toBe(status === 503);
  expect(await service.table.items()).toEqual(items);
});

test("undecodable data is accepted for this route's own address only", async () => {
  const body = { message: { data: "%%%" } };
  const own = `https://${new URL(service.address).host}${PATH}`;
  expect((await send(body, await key.sign({ aud: own }))).status).toBe(200);
  expect((await send(body, await key.sign())).status).toBe(401);
});
