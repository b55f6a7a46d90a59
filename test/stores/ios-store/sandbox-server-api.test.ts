import { createServer } from "node:http";
import { spyOn } from "jest-mock";
import { APIError } from "@apple/app-store-server-library";
import { generateKeyPair } from "jose";
import { close, listen } from "../../../local/server.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { createServerKey } from "../../../sandbox/ios-store/server-api/server-key.ts";
import { APPLE_ID, BUNDLE } from "../../../testing/support/ios-store.ts";
import {
  failure,
  openServedStore,
  refusal,
  until,
  type ServedStore,
  type TokenChanges,
} from "./ios-store-server-api.ts";
import { chain, decodedRenewalInfos, decodedTransactions } from "./ios-store-sandbox.ts";
import { DAY, NOW } from "../../../testing/support/purchases.ts";

const MONTHLY = "com.example.trails.premium.monthly";
const UNKNOWN = "200000000000001";

let under: ServedStore;
let clock: { mockRestore: () => void };
beforeEach(async () => {
  under = await openServedStore();
  // Apple's client dates its tokens by this clock.
  clock = spyOn(Date, "now").mockImplementation(() => under.now);
});
afterEach(async () => {
  clock.mockRestore();
  await under.stop();
});

const buy = async (
  environment: "production" | "sandbox" = "sandbox",
  transaction: object = {},
): Promise<string> => {
  const { originalTransactionIdentifiers } = await under.store.buy({
    environment,
    appTransactionIdentifier: "704",
    transactions: [{ productIdentifier: MONTHLY, ...transaction }],
  });
  return originalTransactionIdentifiers[0] ?? "";
};

const lastTransactions = async (identifier: string, status?: number[]) => {
  const { data = [] } = await under.client.getAllSubscriptionStatuses(identifier, status);
  return data.flatMap(({ lastTransactions = [] }) => lastTransactions);
};

describe("the statuses of a person's subscriptions", () => {
  test("each has its latest transaction and renewal info, signed now", async () => {
    const original = await buy();
    const second = await buy();
    await buy("sandbox", { type: "Non-Consumable" });
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

  test("in production the app has its Apple ID", async () => {
    await expect(under.client.getAllSubscriptionStatuses(await buy("production"))).resolves.toMatchObject({
      environment: "Production",
      appAppleId: APPLE_ID,
    });
  });

  test("what changes twice in a moment is signed later than that moment", async () => {
    const original = await buy();
    await under.store.change(original, { change: "cancel" });
    const [last] = await lastTransactions(original);
    const [transaction] = await decodedTransactions([last?.signedTransactionInfo ?? ""]);
    expect(transaction?.signedDate).toBe(NOW + 1);
  });

  test("every id of the person names them", async () => {
    const original = await buy();
    const renewed = await under.store.change(original, { change: "renew" });
    const maps = await buy("sandbox", { type: "Non-Consumable" });
    const [, renewal] = await decodedTransactions(renewed.signedTransactions);
    for (const identifier of [original, renewal?.transactionId ?? "", maps, "704"])
      expect(await lastTransactions(identifier)).toMatchObject([{ originalTransactionId: original }]);
  });

  test("an app transaction's id of both environments names the one in production", async () => {
    await buy("sandbox");
    const original = await buy("production");
    expect(await lastTransactions("704")).toMatchObject([{ originalTransactionId: original }]);
  });

  test("who has no subscription has no statuses", async () => {
    const { data } = await under.client.getAllSubscriptionStatuses(
      await buy("sandbox", { type: "Consumable" }),
    );
    expect(data).toEqual([]);
  });

  test("each standing has its status, by which the answer can be limited", async () => {
    const active = await buy();
    const expired = await buy();
    const retry = await buy("sandbox", { gracePeriod: null });
    const grace = await buy();
    const revoked = await buy();
    await under.store.change(expired, { change: "expire" });
    await under.store.change(revoked, { change: "refund" });
    for (const failing of [retry, grace]) await under.store.change(failing, { change: "fail-billing" });
    await under.moveTo(Date.UTC(2026, 6, 16));
    const statuses = (await lastTransactions(active)).map(({ originalTransactionId, status }) => [
      originalTransactionId,
      status,
    ]);
    expect(Object.fromEntries(statuses)).toEqual({
      [active]: 1,
      [expired]: 2,
      [retry]: 3,
      [grace]: 4,
      [revoked]: 5,
    });
    const some = await lastTransactions(active, [3, 4]);
    expect(some.map(({ originalTransactionId }) => originalTransactionId)).toEqual([retry, grace]);
    for (const status of ["6", "active", ""])
      expect(await under.request("GET", `/inApps/v1/subscriptions/${active}?status=${status}`)).toEqual(
        refusal(APIError.INVALID_STATUS),
      );
  });
});

describe("one transaction", () => {
  test("is found by its id, and an original id names the original", async () => {
    const original = await buy();
    const { signedTransactions } = await under.store.change(original, { change: "renew" });
    const [first, renewal] = await decodedTransactions(signedTransactions);
    for (const each of [first, renewal]) {
      const { signedTransactionInfo = "" } = await under.client.getTransactionInfo(each?.transactionId ?? "");
      const [found] = await decodedTransactions([signedTransactionInfo]);
      expect(found).toMatchObject({ transactionId: each?.transactionId, originalTransactionId: original });
      expect(found).not.toHaveProperty("deviceVerification");
    }
  });

  test("an original id without a transaction names the first of its lineage", async () => {
    await buy("sandbox", {
      live: true,
      originalTransactionIdentifier: "1001",
      transactionIdentifier: "1002",
    });
    const { signedTransactionInfo = "" } = await under.client.getTransactionInfo("1001");
    expect(await decodedTransactions([signedTransactionInfo])).toMatchObject([{ transactionId: "1002" }]);
  });

  test("an app transaction's id names no transaction", async () => {
    await buy();
    await expect(under.client.getTransactionInfo("704")).rejects.toMatchObject(
      failure(APIError.TRANSACTION_ID_NOT_FOUND),
    );
  });
});

describe("a transaction id", () => {
  const ask = {
    statuses: (identifier: string, client = under.client) => client.getAllSubscriptionStatuses(identifier),
    transaction: (identifier: string, client = under.client) => client.getTransactionInfo(identifier),
  };
  const endpoints = ["statuses", "transaction"] as const;

  test.each(endpoints)("that is unknown is not found: %s", async (endpoint) => {
    await buy();
    await expect(ask[endpoint](UNKNOWN)).rejects.toMatchObject(failure(APIError.TRANSACTION_ID_NOT_FOUND));
  });

  test.each(endpoints)("of another app is not found: %s", async (endpoint) => {
    const original = await buy();
    const other = under.clientOf("com.example.other");
    await expect(ask[endpoint](original, other)).rejects.toMatchObject(
      failure(APIError.TRANSACTION_ID_NOT_FOUND),
    );
  });

  test.each(endpoints)("of what was signed as told is not found: %s", async (endpoint) => {
    await buy("sandbox", { transactionIdentifier: UNKNOWN });
    await expect(ask[endpoint](UNKNOWN)).rejects.toMatchObject(failure(APIError.TRANSACTION_ID_NOT_FOUND));
  });

  test.each(["abc", "12a", "-1", "123456789012345678901", "%31"])("%s is malformed", async (identifier) => {
    for (const endpoint of endpoints)
      await expect(ask[endpoint](identifier)).rejects.toMatchObject(failure(APIError.INVALID_TRANSACTION_ID));
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

  test("whoever takes a notification may ask before answering it", async () => {
    const original = await buy();
    const seen: unknown[] = [];
    const receiver = createServer((_, response) => {
      void (async () => {
        const [last] = await lastTransactions(original);
        const [transaction] = await decodedTransactions([last?.signedTransactionInfo ?? ""]);
        seen.push(transaction?.expiresDate);
        response.end();
      })();
    });
    under.url = `http://127.0.0.1:${await listen(receiver, 0)}/`;
    under.now = Date.UTC(2026, 7, 20);
    await under.store.runUntil(under.now);
    // All that is due has happened, although the first of its notifications is not yet answered.
    expect(seen).toEqual([Date.UTC(2026, 8, 15, 12), Date.UTC(2026, 8, 15, 12)]);
    await close(receiver);
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

  test("waiting notifications are saved, and sent by the reopened store", async () => {
    const original = await buy();
    await under.pushed();
    const waiting: (() => void)[] = [];
    const receiver = createServer((_, response) => {
      waiting.push(() => response.end());
    });
    const { url } = under;
    under.url = `http://127.0.0.1:${await listen(receiver, 0)}/`;
    under.now = Date.UTC(2026, 7, 20);
    const told = under.store.runUntil(under.now);
    await until(() => waiting.length > 0);
    await lastTransactions(original);
    const again = under.again();
    under.url = url;
    expect(again.nextEventAt()).toBeLessThanOrEqual(under.now);
    await again.runUntil(under.now);
    expect((await under.pushed()).map(({ name }) => name)).toEqual(["DID_RENEW"]);
    for (const end of waiting) end();
    await told;
    await close(receiver);
  });
});

describe("a token", () => {
  const minutes = 60;
  const at = Math.floor(NOW / 1000);

  const statusWith = async (changes: TokenChanges) => statusOf(`Bearer ${await under.token(changes)}`);
  const statusOf = async (authorization: string | null) => {
    const original = await buy();
    const response = await fetch(`${under.address}/inApps/v1/subscriptions/${original}`, {
      headers: authorization === null ? {} : { authorization },
    });
    if (response.status === 401) expect(await response.text()).toMatch(/^Unauthenticated/);
    return response.status;
  };

  test.each<[string, TokenChanges["claims"]]>([
    ["of five minutes", {}],
    ["of an hour", { exp: at + 60 * minutes }],
    ["of a clock that is a minute ahead", { iat: at + minutes }],
  ])("%s is accepted", async (_, claims) => {
    expect(await statusWith({ claims: { ...claims } })).toBe(200);
  });

  test.each<[string, TokenChanges["claims"], TokenChanges["header"]]>([
    ["of another issuer", { iss: "57246542-96fe-1a63-e053-0824d011072a" }, {}],
    ["for another audience", { aud: "appstoreconnect-v2" }, {}],
    ["of more than an hour", { exp: at + 60 * minutes + 1 }, {}],
    ["that has expired", { iat: at - 10 * minutes, exp: at }, {}],
    ["from the future", { iat: at + 2 * minutes }, {}],
    ["that ends before it begins", { iat: at + 30, exp: at + 20 }, {}],
    ["without a bundle", { bid: undefined }, {}],
    ["with an empty bundle", { bid: "" }, {}],
    ["without its time", { iat: undefined }, {}],
    ["without an end", { exp: undefined }, {}],
    ["of another key", {}, { kid: "ABCDEF1234" }],
    ["of no type", {}, { typ: undefined }],
  ])("%s is refused", async (_, claims, header) => {
    expect(await statusWith({ claims: { ...claims }, header: { ...header } })).toBe(401);
  });

  test("signed with another key is refused", async () => {
    const { privateKey: key } = await generateKeyPair("ES256");
    expect(await statusWith({ key })).toBe(401);
  });

  test.each([null, "", "Bearer", "Bearer a.b.c", "Basic YTpi"])("%j is none", async (authorization) => {
    expect(await statusOf(authorization)).toBe(401);
  });
});

describe("the API key", () => {
  test("is one that can be downloaded from App Store Connect", () => {
    expect(under.store.serverKey).toEqual({
      issuerIdentifier: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
      keyIdentifier: expect.stringMatching(/^[\dA-Z]{10}$/),
      privateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
    });
  });

  test("may be given", () => {
    const serverKey = createServerKey();
    const store = createIosStoreSandbox({
      prefix: "/store",
      signer: chain,
      bundleIdentifier: BUNDLE,
      appAppleIdentifier: APPLE_ID,
      now: () => NOW,
      notificationUrl: null,
      saved: null,
      serverKey,
    });
    expect(store.serverKey).toEqual(serverKey);
  });
});

describe("a fault", () => {
  const ask = async (signal?: AbortSignal) =>
    fetch(`${under.address}/inApps/v1/transactions/1`, { ...(signal !== undefined && { signal }) });
  const control = async (fails: unknown) => {
    const response = await fetch(`${under.address}/server-api`, {
      method: "POST",
      body: JSON.stringify({ fails }),
    });
    return { status: response.status, body: await response.json() };
  };

  test.each([
    [{ status: 400 }, 4_000_000],
    [{ status: 404 }, 4_040_010],
    [{ status: 404, errorCode: 4_040_002 }, 4_040_002],
    [{ status: 429 }, 4_290_000],
    [{ status: 500 }, 5_000_000],
    [{ status: 500, errorCode: 5_000_001 }, 5_000_001],
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

  test("fails as many requests as asked, also with valid tokens", async () => {
    const original = await buy();
    under.store.failServerApi({ status: 500, times: 2 });
    for (let failed = 0; failed < 2; failed++)
      await expect(under.client.getTransactionInfo(original)).rejects.toMatchObject(
        failure(APIError.GENERAL_INTERNAL),
      );
    await under.client.getTransactionInfo(original);
  });

  test("lasts until it is taken back, or the store is reset", async () => {
    const original = await buy();
    under.store.failServerApi({ status: 500 });
    for (let failed = 0; failed < 3; failed++)
      await expect(under.client.getTransactionInfo(original)).rejects.toMatchObject({ httpStatusCode: 500 });
    under.store.failServerApi(null);
    await under.client.getTransactionInfo(original);
    under.store.failServerApi({ status: 500 });
    under.store.reset();
    await expect(under.client.getTransactionInfo(original)).rejects.toMatchObject({ httpStatusCode: 404 });
  });

  test("may be that no answer comes", async () => {
    under.store.failServerApi({ hangs: true });
    await expect(ask(AbortSignal.timeout(100))).rejects.toMatchObject({ name: "TimeoutError" });
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
  await under.client.getTransactionInfo(original);
  await fetch(`${under.address}/inApps/v1/transactions/${original}`);
  under.store.failServerApi({ status: 500, times: 1 });
  await fetch(`${under.address}/inApps/v1/transactions/${original}`);
  expect(under.store.requests()).toEqual({
    subscriptions: 1,
    history: 0,
    transaction: 3,
    appTransaction: 0,
    notificationHistory: 0,
    requestTestNotification: 0,
    testNotification: 0,
  });
});

test.each([
  ["GET", "/inApps/v1/refund/lookup/1"],
  ["POST", "/inApps/v1/subscriptions/1"],
  ["GET", "/inApps/v1/subscriptions/1/2"],
])("%s %s is not answered", async (method, path) => {
  expect((await fetch(under.address + path, { method })).status).toBe(418);
});
