import { createServer } from "node:http";
import { APIError } from "@apple/app-store-server-library";
import { generateKeyPair } from "jose";
import { close, listen } from "../../../../local/server.ts";
import { APPLE_ID, BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { failure, servedStoreForEachTest, until, type TokenChanges } from "./served-store.ts";
import { decodedRenewalInfos, decodedTransactions } from "./store-under-test.ts";

const UNKNOWN = "200000000000001";

const under = servedStoreForEachTest();
const { buy } = under;

const lastTransactions = async (identifier: string) => {
  const { data = [] } = await under.client.getAllSubscriptionStatuses(identifier);
  return data.flatMap(({ lastTransactions = [] }) => lastTransactions);
};

describe("the statuses of a person's subscriptions", () => {
  test("each has its latest transaction and renewal info, signed now", async () => {
    const original = await buy();
    const second = await buy();
    await buy({ type: "Non-Consumable" });
    await under.store.change(original, { change: "renew" });
    under.now = NOW + DAY;
    const answered = await under.client.getAllSubscriptionStatuses(original);
    expect(answered).toEqual({
      environment: "Sandbox",
      bundleId: BUNDLE,
      data: [
        {
          subscriptionGroupIdentifier: expect.any(String),
          lastTransactions: [original, second].map((originalTransactionId) => ({
            originalTransactionId,
            status: 1,
            signedTransactionInfo: expect.any(String),
            signedRenewalInfo: expect.any(String),
          })),
        },
      ],
    });
    const [last] = await lastTransactions(original);
    const [transaction] = await decodedTransactions([last?.signedTransactionInfo ?? ""]);
    expect(transaction).toMatchObject({
      originalTransactionId: original,
      transactionReason: "RENEWAL",
      subscriptionGroupIdentifier: answered.data?.[0]?.subscriptionGroupIdentifier,
      signedDate: NOW + DAY,
    });
    const [renewalInfo] = await decodedRenewalInfos([last?.signedRenewalInfo ?? ""]);
    expect(renewalInfo).toMatchObject({ originalTransactionId: original, signedDate: NOW + DAY });
    expect(Object.keys({ ...transaction, ...renewalInfo })).not.toContain("deviceVerification");
  });

  test("every id of the person names them", async () => {
    const original = await buy();
    const renewed = await under.store.change(original, { change: "renew" });
    const maps = await buy({ type: "Non-Consumable" });
    const [, renewal] = await decodedTransactions(renewed.signedTransactions);
    for (const identifier of [original, renewal?.transactionId ?? "", maps, "704"])
      expect(await lastTransactions(identifier)).toMatchObject([{ originalTransactionId: original }]);
  });

  test("in production name the app's Apple ID; without a subscription there are none", async () => {
    const original = await buy({ type: "Consumable" }, { environment: "production" });
    expect(await under.client.getAllSubscriptionStatuses(original)).toEqual({
      environment: "Production",
      appAppleId: APPLE_ID,
      bundleId: BUNDLE,
      data: [],
    });
  });

  test("each standing has its status", async () => {
    const active = await buy();
    const expired = await buy();
    const retry = await buy({ gracePeriod: null });
    const grace = await buy();
    const revoked = await buy();
    await under.store.change(expired, { change: "expire" });
    await under.store.change(revoked, { change: "refund" });
    for (const failing of [retry, grace]) await under.store.change(failing, { change: "fail-billing" });
    await under.moveTo(Date.UTC(2026, 6, 16));
    const all = [active, expired, retry, grace, revoked];
    const statuses = all.map((originalTransactionId, index) => ({
      originalTransactionId,
      status: index + 1,
    }));
    expect(await lastTransactions(active)).toMatchObject(statuses);
  });
});

test("one transaction is found by its id; an original id names the original", async () => {
  const original = await buy();
  const { signedTransactions } = await under.store.change(original, { change: "renew" });
  for (const { transactionId = "" } of await decodedTransactions(signedTransactions)) {
    const { signedTransactionInfo = "" } = await under.client.getTransactionInfo(transactionId);
    const [found] = await decodedTransactions([signedTransactionInfo]);
    expect(found).toMatchObject({ transactionId, originalTransactionId: original });
    expect(found).not.toHaveProperty("deviceVerification");
  }
});

describe.each(["getAllSubscriptionStatuses", "getTransactionInfo"] as const)("%s", (ask) => {
  test.each([
    ["of another app", {}, "com.example.other", null],
    ["of what was signed as told", { transactionIdentifier: UNKNOWN }, BUNDLE, UNKNOWN],
  ])("knows no transaction %s", async (_, goods, bundle, identifier) => {
    const original = await buy(goods);
    await expect(under.clientOf(bundle)[ask](identifier ?? original)).rejects.toMatchObject(
      failure(APIError.TRANSACTION_ID_NOT_FOUND),
    );
  });
  test.each(["abc", "12a", "-1", "123456789012345678901"])("refuses the id %s", async (identifier) => {
    await expect(under.client[ask](identifier)).rejects.toMatchObject(
      failure(APIError.INVALID_TRANSACTION_ID),
    );
  });
});

describe("what is due", () => {
  test("has happened before the answer, and is told afterwards, in order", async () => {
    const original = await buy();
    await under.pushed();
    under.now = Date.UTC(2026, 7, 20);
    const [last] = await lastTransactions(original);
    const [transaction] = await decodedTransactions([last?.signedTransactionInfo ?? ""]);
    expect(transaction?.expiresDate).toBe(Date.UTC(2026, 8, 15, 12));
    await until(() => under.received.length === 3);
    expect((await under.pushed()).map(({ name }) => name)).toEqual(["DID_RENEW", "DID_RENEW"]);
  });

  test("does not keep a reader waiting while nobody answers its notification", async () => {
    const original = await buy();
    const waiting: (() => void)[] = [];
    const receiver = createServer((_, response) => {
      waiting.push(() => response.end());
    });
    under.url = `http://127.0.0.1:${await listen(receiver, 0)}/`;
    const told = under.store.change(original, { change: "cancel" });
    await until(() => waiting.length > 0);
    const [last] = await lastTransactions(original);
    const [renewalInfo] = await decodedRenewalInfos([last?.signedRenewalInfo ?? ""]);
    expect(renewalInfo?.autoRenewStatus).toBe(0);
    for (const end of waiting) end();
    await told;
    await close(receiver);
  });
});

describe("a token", () => {
  const minutes = 60;
  const at = Math.floor(NOW / 1000);

  const statusWith = async (authorization: string): Promise<number> => {
    const original = await buy();
    const headers = { authorization };
    const response = await fetch(`${under.address}/inApps/v1/subscriptions/${original}`, { headers });
    if (response.status === 401) expect(await response.text()).toMatch(/^Unauthenticated/);
    return response.status;
  };

  test.each<[string, TokenChanges["claims"], TokenChanges["header"], number]>([
    ["of an hour", { exp: at + 60 * minutes }, {}, 200],
    ["of a clock that is a minute ahead", { iat: at + minutes }, {}, 200],
    ["of another issuer", { iss: "57246542-96fe-1a63-e053-0824d011072a" }, {}, 401],
    ["for another audience", { aud: "appstoreconnect-v2" }, {}, 401],
    ["of more than an hour", { exp: at + 60 * minutes + 1 }, {}, 401],
    ["that has expired", { iat: at - 10 * minutes, exp: at }, {}, 401],
    ["from the future", { iat: at + 2 * minutes }, {}, 401],
    ["without a bundle", { bid: undefined }, {}, 401],
    ["without an end", { exp: undefined }, {}, 401],
    ["of another key", {}, { kid: "ABCDEF1234" }, 401],
  ])("%s is answered", async (_, claims, header, status) => {
    const token = await under.token({ claims: { ...claims }, header: { ...header } });
    expect(await statusWith(`Bearer ${token}`)).toBe(status);
  });
  test("signed with another key is refused", async () => {
    const { privateKey: key } = await generateKeyPair("ES256");
    expect(await statusWith(`Bearer ${await under.token({ key })}`)).toBe(401);
  });
  test.each(["", "Bearer", "Bearer a.b.c", "Basic YTpi"])("%j is none", async (authorization) => {
    expect(await statusWith(authorization)).toBe(401);
  });
});

test("the API key is one that can be downloaded from App Store Connect", () => {
  expect(under.store.serverKey).toEqual({
    issuerIdentifier: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
    keyIdentifier: expect.stringMatching(/^[\dA-Z]{10}$/),
    privateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
  });
});

describe("a fault", () => {
  const ask = async () => fetch(`${under.address}/inApps/v1/transactions/1`);
  const control = async (fails: unknown) => under.request("POST", "/server-api", { fails });

  test.each([
    [{ status: 404 }, 4_040_010],
    [{ status: 404, errorCode: 4_040_002 }, 4_040_002],
    [{ status: 429 }, 4_290_000],
    [{ status: 500 }, 5_000_000],
  ])("%j has Apple's code %i", async (fault, errorCode) => {
    under.store.failServerApi(fault);
    const response = await ask();
    expect(response.status).toBe(fault.status);
    expect(await response.json()).toEqual({ errorCode, errorMessage: expect.any(String) });
    expect(response.headers.has("retry-after")).toBe(false);
  });

  test("says when to try again, in milliseconds since 1970", async () => {
    under.store.failServerApi({ status: 429, retryAfter: NOW + 1500 });
    expect((await ask()).headers.get("retry-after")).toBe(String(NOW + 1500));
  });

  test.each([
    [401, "Unauthenticated\n"],
    [503, ""],
  ])("%i has no code", async (status, body) => {
    under.store.failServerApi({ status });
    const response = await ask();
    expect([response.status, await response.text()]).toEqual([status, body]);
  });

  test("lasts as many requests as asked, or until the store is reset", async () => {
    const original = await buy();
    const statusOf = async () => (await under.request("GET", `/inApps/v1/transactions/${original}`)).status;
    under.store.failServerApi({ status: 500, times: 2 });
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([500, 500, 200]);
    under.store.failServerApi({ status: 500 });
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([500, 500, 500]);
    under.store.reset();
    expect(await statusOf()).toBe(404);
  });

  test("is set by a request, and leaves other requests alone", async () => {
    expect(await control({ status: 503 })).toEqual({ status: 200, body: { fails: { status: 503 } } });
    expect((await ask()).status).toBe(503);
    await buy();
    expect(await control(null)).toEqual({ status: 200, body: { fails: null } });
    expect((await ask()).status).toBe(401);
  });

  test.each([[{}], [{ status: 200 }], [{ status: 500, times: 0 }], [{ status: 500, delay: 1 }], ["all"]])(
    "%j is none",
    async (fails) => {
      expect((await control(fails)).status).toBe(400);
    },
  );
});

test("requests are counted by endpoint, those that fail too", async () => {
  const original = await buy();
  await under.client.getAllSubscriptionStatuses(original);
  await fetch(`${under.address}/inApps/v1/transactions/${original}`);
  under.store.failServerApi({ status: 500, times: 1 });
  await fetch(`${under.address}/inApps/v1/transactions/${original}`);
  expect(under.store.requests()).toMatchObject({ subscriptions: 1, transaction: 2, history: 0 });
});

test.each([
  ["GET", "/inApps/v1/refund/lookup/1"],
  ["POST", "/inApps/v1/subscriptions/1"],
  ["GET", "/inApps/v1/subscriptions/1/2"],
])("%s %s is not answered", async (method, path) => {
  expect((await fetch(under.address + path, { method })).status).toBe(418);
});
