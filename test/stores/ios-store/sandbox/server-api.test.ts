import { generateKeyPairSync } from "node:crypto";
import { APIError, GetTransactionHistoryVersion, Order } from "@apple/app-store-server-library";
import { APPLE_ID, BUNDLE } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import {
  decodedRenewalInfos,
  decodedTransactions,
  failure,
  refusal,
  type StoreEnvironment,
  storeForEachTest,
  type TokenChanges,
  verifiers,
} from "./store-under-test.ts";

const UNKNOWN = "200000000000001";

const under = storeForEachTest();
const { buy } = under;

const lastTransactions = async (identifier: string) => {
  const { data = [] } = await under.clientOf(BUNDLE).getAllSubscriptionStatuses(identifier);
  return data.flatMap(({ lastTransactions = [] }) => lastTransactions);
};

describe("the statuses of a person's subscriptions", () => {
  test("each has its latest transaction and renewal info, signed now", async () => {
    const original = await buy();
    const second = await buy();
    await buy({ type: "Non-Consumable" });
    await under.store.change(original, { change: "renew" });
    under.now = NOW + DAY;
    const answered = await under.clientOf(BUNDLE).getAllSubscriptionStatuses(original);
    const signed = { signedTransactionInfo: expect.any(String), signedRenewalInfo: expect.any(String) };
    const ofBoth = [original, second].map((id) => ({ originalTransactionId: id, status: 1, ...signed }));
    const data = [{ subscriptionGroupIdentifier: expect.any(String), lastTransactions: ofBoth }];
    expect(answered).toEqual({ environment: "Sandbox", bundleId: BUNDLE, data });
    const last = answered.data?.[0]?.lastTransactions?.[0];
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

  test("each standing has its status", async () => {
    const all: string[] = [];
    for (const goods of [{}, {}, { gracePeriod: null }, {}, {}]) all.push(await buy(goods));
    const [active = "", expired = "", retry = "", grace = "", revoked = ""] = all;
    await under.store.change(expired, { change: "expire" });
    await under.store.change(revoked, { change: "refund" });
    for (const failing of [retry, grace]) await under.store.change(failing, { change: "fail-billing" });
    await under.moveTo(Date.UTC(2026, 6, 16));
    expect(await lastTransactions(active)).toMatchObject(
      all.map((originalTransactionId, index) => ({ originalTransactionId, status: index + 1 })),
    );
  });
});

const appTransactionOf = async (identifier: string, environment: StoreEnvironment = "sandbox") => {
  const { signedAppTransactionInfo = "" } = await under.clientOf(BUNDLE).getAppTransactionInfo(identifier);
  return verifiers[environment].verifyAndDecodeAppTransaction(signedAppTransactionInfo);
};

test("what is due has happened before an answer", async () => {
  const original = await buy();
  under.now = Date.UTC(2026, 6, 16);
  const [last] = await lastTransactions(original);
  const [transaction] = await decodedTransactions([last?.signedTransactionInfo ?? ""]);
  expect(transaction?.transactionReason).toBe("RENEWAL");
});

test("any identifier of a person names the app transaction, signed now", async () => {
  const original = await under.buy();
  await under.store.change(original, { change: "renew" });
  under.now = NOW + DAY;
  for (const identifier of [original, "704"]) {
    const expected = { appTransactionId: "704", receiptCreationDate: NOW + DAY, bundleId: BUNDLE };
    expect(await appTransactionOf(identifier)).toMatchObject(expected);
  }
});

test.each([
  ["production", APPLE_ID],
  ["sandbox", undefined],
] as const)("an app transaction in %s names the Apple ID %p", async (environment, appAppleId) => {
  const original = await under.buy({}, { environment });
  expect((await appTransactionOf(original, environment)).appAppleId).toBe(appAppleId);
});

describe("the history of transactions", () => {
  const history = async (identifier: string, revision: string | null = null) => {
    const { signedTransactions = [], ...answered } = await under
      .clientOf(BUNDLE)
      .getTransactionHistory(
        identifier,
        revision,
        { sort: Order.DESCENDING },
        GetTransactionHistoryVersion.V2,
      );
    return { ...answered, transactions: await decodedTransactions(signedTransactions) };
  };

  test("has all that the person bought, the last change first", async () => {
    const subscription = await buy();
    const coins = await buy({ type: "Consumable" });
    const map = await buy({ type: "Non-Consumable" });
    await buy({}, { appTransactionIdentifier: "705" });
    await under.store.change(coins, { change: "refund" });
    under.now = NOW + DAY;
    const answered = await history(subscription);
    expect(answered).toMatchObject({
      environment: "Sandbox",
      bundleId: BUNDLE,
      hasMore: false,
      transactions: [coins, map, subscription].map((id) => ({ transactionId: id, signedDate: under.now })),
    });
    expect(answered).not.toHaveProperty("appAppleId");
    for (const transaction of answered.transactions)
      expect(transaction).not.toHaveProperty("deviceVerification");
  });

  test("comes in pages of twenty", async () => {
    const original = await buy({ purchaseDate: "2024-10-15T12:00:00Z" });
    const first = await history(original);
    const second = await history(original, first.revision);
    const third = await history(original, second.revision);
    const pages = [first, second, third];
    expect(pages.map(({ transactions, hasMore }) => [transactions.length, hasMore])).toEqual([
      [20, true],
      [1, false],
      [0, false],
    ]);
    const dates = pages.flatMap(({ transactions }) =>
      transactions.map(({ purchaseDate = 0 }) => purchaseDate),
    );
    expect(dates).toEqual(dates.toSorted((one, other) => other - one));
  });

  test.each([
    ["sort=ASCENDING", APIError.GENERAL_BAD_REQUEST],
    ["sort=DESCENDING&revoked=true", APIError.GENERAL_BAD_REQUEST],
    ["sort=DESCENDING&revision=abc", APIError.INVALID_REQUEST_REVISION],
  ])("%s is refused", async (query, errorCode) => {
    const original = await buy();
    expect(await under.request("GET", `/inApps/v2/history/${original}?${query}`)).toEqual(refusal(errorCode));
  });
});

describe.each(["getAllSubscriptionStatuses", "getAppTransactionInfo"] as const)("%s", (ask) => {
  test.each([
    ["of another app", "com.example.other", null],
    ["that was not sold", BUNDLE, UNKNOWN],
  ])("knows no transaction %s", async (_, bundle, identifier) => {
    const original = await buy();
    const unknown = failure(APIError.TRANSACTION_ID_NOT_FOUND);
    await expect(under.clientOf(bundle)[ask](identifier ?? original)).rejects.toMatchObject(unknown);
  });
  test.each(["abc", "12a", "-1", "123456789012345678901"])("refuses the id %s", async (identifier) => {
    const invalid = failure(APIError.INVALID_TRANSACTION_ID);
    await expect(under.clientOf(BUNDLE)[ask](identifier)).rejects.toMatchObject(invalid);
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

  test.each<[string, TokenChanges, number]>([
    ["of an hour", { claims: { exp: at + 60 * minutes } }, 200],
    ["of another issuer", { claims: { iss: "57246542-96fe-1a63-e053-0824d011072a" } }, 401],
    ["for another audience", { claims: { aud: "appstoreconnect-v2" } }, 401],
    ["of more than an hour", { claims: { exp: at + 60 * minutes + 1 } }, 401],
    ["that has expired", { claims: { iat: at - 10 * minutes, exp: at } }, 401],
    ["without an end", { claims: { exp: undefined } }, 401],
    ["of another key", { header: { kid: "ABCDEF1234" } }, 401],
    ["signed with another key", { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey }, 401],
  ])("%s is answered", async (_, changes, status) => {
    expect(await statusWith(`Bearer ${await under.token(changes)}`)).toBe(status);
  });
  test.each(["", "Bearer", "Bearer a.b.c", "Basic YTpi"])("%j is none", async (authorization) => {
    expect(await statusWith(authorization)).toBe(401);
  });
});

describe("a fault", () => {
  const ask = async () => fetch(`${under.address}/inApps/v1/subscriptions/1`);
  const control = async (fails: unknown) => under.request("POST", "/server-api", { fails });

  test.each([
    [{ status: 404 }, 4_040_010],
    [{ status: 429 }, 4_290_000],
    [{ status: 500 }, 5_000_000],
  ])("%j has Apple's code %i", async (fault, errorCode) => {
    under.store.failServerApi(fault);
    const response = await ask();
    expect(response.status).toBe(fault.status);
    expect(await response.json()).toEqual({ errorCode, errorMessage: expect.any(String) });
  });

  test("lasts until the store is reset", async () => {
    under.store.failServerApi({ status: 500 });
    const statuses = [await ask(), await ask()].map(({ status }) => status);
    under.store.reset();
    expect([...statuses, (await ask()).status]).toEqual([500, 500, 401]);
  });

  test("is set by a request, and leaves other requests alone", async () => {
    expect(await control({ status: 503 })).toEqual({ status: 200, body: { fails: { status: 503 } } });
    expect((await ask()).status).toBe(503);
    await buy();
    expect(await control(null)).toEqual({ status: 200, body: { fails: null } });
    expect((await ask()).status).toBe(401);
  });

  test.each([[{}], [{ status: 200 }], [{ status: 500, perSecond: 0 }], [{ status: 500, delay: 1 }], ["all"]])(
    "%j is none",
    async (fails) => {
      expect((await control(fails)).status).toBe(400);
    },
  );
});
