import { createRemoteJWKSet, jwtVerify } from "jose";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import { DAY, NOW, PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { timedAndroidStoreForEachTest } from "./timed-android-store.ts";

const SECOND = 1000;
const AUDIENCE = "https://example.com/play";
const SERVICE_ACCOUNT = "play-push@project.iam.gserviceaccount.com";

const timed = timedAndroidStoreForEachTest({ audience: AUDIENCE, serviceAccount: SERVICE_ACCOUNT });

const post = async (path: string, body?: unknown) => (await timed.request("POST", path, body)).status;

/** Verifies the token of the latest push with the served keys. */
const verified = async () => {
  const token = timed.pushes.at(-1)?.headers.authorization?.replace(/^Bearer /, "");
  return jwtVerify(token ?? "there was no push", createRemoteJWKSet(new URL(`${timed.rootUrl}certs`)), {
    issuer: "https://accounts.google.com",
    audience: AUDIENCE,
    algorithms: ["RS256"],
    currentDate: new Date(timed.clock.now),
  });
};

describe("a push", () => {
  test("is Pub/Sub's: base64, ids and times twice, its subscription", async () => {
    const purchaseToken = timed.buy();
    await timed.sandbox.pushed();
    const [push] = timed.pushes;
    expect(push?.notification).toEqual({
      version: "1.0",
      packageName: PACKAGE_NAME,
      eventTimeMillis: String(NOW),
      subscriptionNotification: { version: "1.0", notificationType: 4, purchaseToken },
    });
    expect(push?.headers["content-type"]).toBe("application/json");
    const { messageId } = push?.body.message ?? {};
    expect(messageId).toMatch(/^\d+$/);
    const times = { publishTime: isoTime(NOW), publish_time: isoTime(NOW) };
    expect(push?.body).toEqual({
      message: { data: expect.any(String), messageId, message_id: messageId, ...times },
      subscription: expect.stringMatching(/^projects\/sandbox\/subscriptions\//),
    });
  });

  test("carries the kinds of notification that Google documents", async () => {
    const purchaseToken = timed.buy({ productKind: "one_time_product", productIdentifier: "coins" });
    timed.sandbox.change(purchaseToken, { change: "refund-review" });
    timed.sandbox.change(purchaseToken, { change: "refund" });
    await timed.sandbox.pushed();
    const orderId = timed.orderOf(purchaseToken);
    expect(timed.pushes.map(({ notification }) => notification)).toMatchObject([
      { oneTimeProductNotification: { version: "1.0", notificationType: 1, purchaseToken, sku: "coins" } },
      { pendingRefundReviewNotification: { version: "1.0", orderId } },
      { voidedPurchaseNotification: { purchaseToken, orderId, productType: 2, refundType: 1 } },
    ]);
  });

  test("has a token of Google's shape, that the served keys verify", async () => {
    timed.buy();
    await timed.sandbox.pushed();
    const { payload, protectedHeader } = await verified();
    const kid = expect.stringMatching(/^[0-9a-f]{40}$/);
    expect(protectedHeader).toEqual({ alg: "RS256", kid, typ: "JWT" });
    expect(payload).toEqual({
      aud: AUDIENCE,
      azp: expect.stringMatching(/^\d{21}$/),
      email: SERVICE_ACCOUNT,
      email_verified: true,
      exp: NOW / SECOND + 3600,
      iat: NOW / SECOND,
      iss: "https://accounts.google.com",
      sub: payload["azp"],
    });
  });
});

describe("a push that is not acknowledged", () => {
  test.each([404, 503])("because it is answered with %p is sent again: the same message", async (status) => {
    timed.answers.push(status);
    timed.buy();
    await timed.told();
    expect(timed.sandbox.nextEventAt()).toBe(NOW + 10 * SECOND);
    await timed.advanceTo(NOW + 10 * SECOND);
    expect(await timed.told()).toEqual(["PURCHASED"]);
    expect(timed.pushes[1]?.body).toEqual(timed.pushes[0]?.body);
    expect(timed.sandbox.nextEventAt()).toBe(NOW + 3 * DAY);
  });

  test("is retried after 10 s, doubling to 10 min, for 7 days", async () => {
    timed.answers.push(...Array.from({ length: 2000 }, () => 503));
    const token = timed.buy({ pending: true });
    timed.sandbox.change(token, { change: "decline" });
    await timed.sandbox.pushed();
    const waits: number[] = [];
    let last = NOW;
    for (let next = timed.sandbox.nextEventAt(); next !== null; next = timed.sandbox.nextEventAt()) {
      waits.push((next - last) / SECOND);
      last = next;
      await timed.advanceTo(next);
    }
    expect(waits.slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
    expect(new Set(waits.slice(6))).toEqual(new Set([600]));
    expect(last).toBeLessThanOrEqual(NOW + 7 * DAY);
    expect(last).toBeGreaterThan(NOW + 7 * DAY - 600 * SECOND);
    expect(timed.pushes).toHaveLength(waits.length + 1);
  });
});

test("pushing is switched off and on: what happened meanwhile is never told", async () => {
  timed.answers.push(503);
  timed.buy();
  await timed.told();
  expect(await post("notifications", { enabled: false })).toBe(200);
  timed.buy();
  await timed.advanceTo(NOW + 20 * SECOND);
  expect(await timed.told()).toEqual([]);
  expect(await post("notifications", { enabled: true })).toBe(200);
  await timed.advanceTo(NOW + 20 * SECOND);
  timed.buy();
  expect(await timed.told()).toEqual(["PURCHASED"]);
  expect(await post("notifications", { enabled: "yes" })).toBe(400);
  expect(await post("notifications")).toBe(400);
});
