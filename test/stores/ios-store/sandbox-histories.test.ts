import { createServer } from "node:http";
import { spyOn } from "jest-mock";
import {
  APIError,
  GetTransactionHistoryVersion,
  InAppOwnershipType,
  NotificationTypeV2,
  Order,
  ProductType,
  Subtype,
  type NotificationHistoryRequest,
  type TransactionHistoryRequest,
} from "@apple/app-store-server-library";
import { close, listen } from "../../../local/server.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { APPLE_ID, BUNDLE } from "../../../testing/support/ios-store.ts";
import { failure, openServedStore, refusal, until, type ServedStore } from "./ios-store-server-api.ts";
import { chain, decoded, decodedTransactions } from "./ios-store-sandbox.ts";
import { DAY, NOW } from "../../../testing/support/purchases.ts";

const MONTHLY = "com.example.trails.premium.monthly";
const HOUR = 3_600_000;

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
  transaction: object = {},
  { environment = "sandbox", appTransactionIdentifier = "704" }: Person = {},
): Promise<string> => {
  const { originalTransactionIdentifiers } = await under.store.buy({
    environment,
    appTransactionIdentifier,
    transactions: [{ productIdentifier: MONTHLY, ...transaction }],
  });
  return originalTransactionIdentifiers[0] ?? "";
};
interface Person {
  readonly environment?: "production" | "sandbox";
  readonly appTransactionIdentifier?: string;
}
const PRODUCTION: Person = { environment: "production" };

describe("the history of a person's transactions", () => {
  const history = async (
    identifier: string,
    request: TransactionHistoryRequest = {},
    revision: string | null = null,
  ) => {
    const { signedTransactions = [], ...answered } = await under.client.getTransactionHistory(
      identifier,
      revision,
      request,
      GetTransactionHistoryVersion.V2,
    );
    return { ...answered, transactions: await decodedTransactions(signedTransactions) };
  };
  const idsOf = ({ transactions }: Awaited<ReturnType<typeof history>>) =>
    transactions.map(({ transactionId }) => transactionId);

  test("has everything that the person bought, signed now and for no device", async () => {
    const bought = [await buy(), await buy({ type: "Consumable" }), await buy({ type: "Non-Consumable" })];
    await buy({}, { appTransactionIdentifier: "705" });
    under.now = NOW + DAY;
    const answered = await history(bought[0] ?? "");
    expect(idsOf(answered)).toEqual(bought);
    expect(answered).toMatchObject({
      environment: "Sandbox",
      bundleId: BUNDLE,
      hasMore: false,
      revision: expect.any(String),
    });
    expect(answered).not.toHaveProperty("appAppleId");
    for (const transaction of answered.transactions) {
      expect(transaction.signedDate).toBe(NOW + DAY);
      expect(transaction).not.toHaveProperty("deviceVerification");
    }
  });

  test("names the app's Apple ID in production", async () => {
    const bundleAndId = { environment: "Production", bundleId: BUNDLE, appAppleId: APPLE_ID };
    const { body } = await under.request("GET", `/inApps/v2/history/${await buy({}, PRODUCTION)}`);
    expect(body).toMatchObject(bundleAndId);
  });

  test("comes in pages of twenty, in the order of the last changes", async () => {
    const original = await buy({ purchaseDate: "2024-10-15T12:00:00Z", live: true });
    const first = await history(original);
    expect([first.transactions.length, first.hasMore]).toEqual([20, true]);
    const second = await history(original, {}, first.revision);
    expect([second.transactions.length, second.hasMore]).toEqual([1, false]);
    const all = [...first.transactions, ...second.transactions].map(({ purchaseDate = 0 }) => purchaseDate);
    expect(all).toEqual(all.toSorted((one, other) => one - other));
    const descending = { sort: Order.DESCENDING };
    const latest = await history(original, descending);
    const oldest = await history(original, descending, latest.revision);
    expect([...idsOf(latest), ...idsOf(oldest)]).toEqual([...idsOf(first), ...idsOf(second)].toReversed());
    expect([latest.hasMore, oldest.hasMore]).toEqual([true, false]);
    expect(idsOf(await history(original, descending, oldest.revision))).toEqual([]);
  });

  test("a revision continues with what is new or has changed since", async () => {
    const refunded = await buy({ type: "Non-Consumable" });
    const kept = await buy({ type: "Non-Consumable" });
    const read = await history(kept);
    const nothing = await history(kept, {}, read.revision);
    expect([idsOf(nothing), nothing.hasMore]).toEqual([[], false]);
    const bought = await buy();
    await under.store.change(refunded, { change: "refund" });
    const changed = await history(kept, {}, nothing.revision);
    expect(idsOf(changed)).toEqual([bought, refunded]);
    expect(idsOf(await history(kept))).toEqual([kept, bought, refunded]);
  });

  test("a change of the renewal changes no transaction", async () => {
    const original = await buy();
    const { revision } = await history(original);
    await under.store.change(original, { change: "cancel" });
    expect(idsOf(await history(original, {}, revision))).toEqual([]);
  });

  test("its order is saved; without one it is that of purchases", async () => {
    const refunded = await buy({ type: "Non-Consumable" });
    const kept = await buy({ type: "Non-Consumable" });
    await under.store.change(refunded, { change: "refund" });
    const { revision } = await history(kept);
    const saved = under.store.save();
    const restore = (text: string) => Object.assign(under, { store: reopened(text) });
    restore(saved);
    const bought = await buy();
    expect(idsOf(await history(kept, {}, revision))).toEqual([bought]);
    restore(saved.replaceAll(/,"revision":\d+/g, ""));
    expect(idsOf(await history(kept))).toEqual([refunded, kept]);
  });

  test.each<[string, TransactionHistoryRequest, (keyof Awaited<ReturnType<typeof variety>>)[]]>([
    ["productId", { productIds: ["maps", "coins"] }, ["maps", "coins"]],
    ["productType", { productTypes: [ProductType.AUTO_RENEWABLE] }, ["subscription", "shared"]],
    [
      "productTypes",
      { productTypes: [ProductType.CONSUMABLE, ProductType.NON_CONSUMABLE, ProductType.NON_RENEWABLE] },
      ["maps", "coins", "pass"],
    ],
    ["subscriptionGroupIdentifier", { subscriptionGroupIdentifiers: ["1"] }, []],
    [
      "inAppOwnershipType",
      { inAppOwnershipType: InAppOwnershipType.PURCHASED },
      ["subscription", "maps", "coins", "pass"],
    ],
    ["inAppOwnershipType", { inAppOwnershipType: InAppOwnershipType.FAMILY_SHARED }, ["shared"]],
    ["revoked", { revoked: true }, ["coins"]],
    ["not revoked", { revoked: false }, ["subscription", "maps", "pass", "shared"]],
    ["startDate", { startDate: NOW + 2 * HOUR }, ["coins", "pass", "shared"]],
    ["endDate", { endDate: NOW + 2 * HOUR }, ["subscription", "maps"]],
    ["both dates", { startDate: NOW + HOUR, endDate: NOW + HOUR + 1 }, ["maps"]],
  ])("can be limited by %s", async (_, request, expected) => {
    const bought = await variety();
    const found = idsOf(await history(bought.maps, request));
    expect(found.toSorted()).toEqual(expected.map((name) => bought[name]).toSorted());
  });

  const variety = async () => {
    const subscription = await buy();
    under.now += HOUR;
    const maps = await buy({ productIdentifier: "maps", type: "Non-Consumable" });
    under.now += HOUR;
    const coins = await buy({ productIdentifier: "coins", type: "Consumable" });
    const pass = await buy({ productIdentifier: "pass", type: "Non-Renewing Subscription" });
    const purchaser = await buy({}, { appTransactionIdentifier: "705" });
    const sharing = { change: "share-with-family", appTransactionIdentifier: "704" } as const;
    const { originalTransactionIdentifiers } = await under.store.change(purchaser, sharing);
    await under.store.change(coins, { change: "refund" });
    const known = new Set([subscription, maps, coins, pass]);
    const shared = originalTransactionIdentifiers.find((identifier) => !known.has(identifier)) ?? "";
    return { subscription, maps, coins, pass, shared };
  };

  test("all subscriptions are of one group", async () => {
    const original = await buy();
    const { data } = await under.client.getAllSubscriptionStatuses(original);
    const subscriptionGroupIdentifiers = [data?.[0]?.subscriptionGroupIdentifier ?? ""];
    await buy({ type: "Consumable" });
    expect(idsOf(await history(original, { subscriptionGroupIdentifiers }))).toEqual([original]);
  });

  test.each([
    ["sort=UP", APIError.INVALID_SORT],
    ["sort=ASCENDING&sort=DESCENDING", APIError.INVALID_SORT],
    ["productType=CAR", APIError.INVALID_PRODUCT_TYPE],
    ["productType=toString", APIError.INVALID_PRODUCT_TYPE],
    ["productId=", APIError.INVALID_PRODUCT_ID],
    ["subscriptionGroupIdentifier=", APIError.INVALID_SUBSCRIPTION_GROUP_IDENTIFIER],
    ["inAppOwnershipType=STOLEN", APIError.INVALID_IN_APP_OWNERSHIP_TYPE],
    ["revoked=1", APIError.INVALID_REVOKED],
    ["startDate=today", APIError.INVALID_START_DATE],
    ["startDate=1&startDate=2", APIError.INVALID_START_DATE],
    ["endDate=-1", APIError.INVALID_END_DATE],
    ["startDate=2&endDate=2", APIError.START_DATE_AFTER_END_DATE],
    ["revision=abc", APIError.INVALID_REQUEST_REVISION],
  ])("%s is refused", async (query, errorCode) => {
    const original = await buy();
    expect(await under.request("GET", `/inApps/v2/history/${original}?${query}`)).toEqual(refusal(errorCode));
  });

  test("a revision of another query or of another id is refused", async () => {
    const original = await buy();
    const other = await buy();
    const { revision } = await history(original);
    for (const [identifier, request] of [
      [original, { revoked: false }],
      [other, {}],
    ] as const)
      await expect(history(identifier, request, revision)).rejects.toMatchObject(
        failure(APIError.INVALID_REQUEST_REVISION),
      );
  });
});

describe("the history of notifications", () => {
  const history = async (
    request: Partial<NotificationHistoryRequest> = {},
    paginationToken: string | null = null,
    client = under.client,
  ) => {
    const whole = { startDate: under.now - 100 * DAY, endDate: under.now + 100 * DAY, ...request };
    const answered = await client.getNotificationHistory(paginationToken, whole);
    const { notificationHistory = [], ...page } = answered;
    const sent = await Promise.all(
      notificationHistory.map(async ({ signedPayload = "", sendAttempts = [] }) => {
        const environment = JSON.parse(
          Buffer.from(signedPayload.split(".")[1] ?? "", "base64url").toString("utf8"),
        ).data.environment.toLowerCase();
        return {
          name: (await decoded(signedPayload, environment)).name,
          signedPayload,
          sendAttempts,
          results: sendAttempts.map(({ sendAttemptResult }) => sendAttemptResult),
        };
      }),
    );
    return { ...page, sent };
  };
  const namesOf = ({ sent }: Awaited<ReturnType<typeof history>>) => sent.map(({ name }) => name);

  test("has what was sent, with its time and result", async () => {
    await buy();
    const { hasMore, paginationToken, sent } = await history();
    expect([hasMore, paginationToken]).toEqual([false, undefined]);
    expect(sent).toEqual([
      {
        name: "SUBSCRIBED INITIAL_BUY",
        signedPayload: under.received[0]?.signedPayload,
        sendAttempts: [{ attemptDate: NOW, sendAttemptResult: "SUCCESS" }],
        results: ["SUCCESS"],
      },
    ]);
  });

  test("has each try of one that is sent again", async () => {
    under.answers = 503;
    await buy({ type: "Non-Consumable" }, PRODUCTION);
    await under.moveTo(NOW + 2 * HOUR);
    const failed = "UNSUCCESSFUL_HTTP_RESPONSE_CODE";
    expect((await history()).sent).toMatchObject([{ results: [failed, failed] }]);
    under.answers = 200;
    await under.moveTo(NOW + DAY);
    expect((await history()).sent.map(({ sendAttempts }) => sendAttempts)).toEqual([
      [
        { attemptDate: NOW, sendAttemptResult: failed },
        { attemptDate: NOW + HOUR, sendAttemptResult: failed },
        { attemptDate: NOW + 13 * HOUR, sendAttemptResult: "SUCCESS" },
      ],
    ]);
  });

  test("has only failures on request: given up, or still tried", async () => {
    under.answers = 500;
    const recovered = await buy({ type: "Non-Consumable" }, PRODUCTION);
    await buy();
    under.answers = 200;
    await under.moveTo(NOW + 2 * HOUR);
    under.answers = 404;
    await under.store.change(recovered, { change: "refund" });
    const failed = await history({ onlyFailures: true });
    expect(namesOf(failed)).toEqual(["SUBSCRIBED INITIAL_BUY", "REFUND"]);
    expect(namesOf(await history({ onlyFailures: false }))).toHaveLength(3);
  });

  test("has what was not retried as pushing is off", async () => {
    under.answers = 500;
    const original = await buy({}, PRODUCTION);
    under.store.enableNotifications(false);
    await under.store.change(original, { change: "cancel" });
    under.store.enableNotifications(true);
    under.url = null;
    await under.store.change(original, { change: "resume" });
    expect(namesOf(await history({ onlyFailures: true }))).toEqual(["SUBSCRIBED INITIAL_BUY"]);
  });

  test("can be limited to a type and a subtype", async () => {
    const original = await buy();
    for (const change of ["cancel", "resume", "cancel"] as const)
      await under.store.change(original, { change });
    const notificationType = NotificationTypeV2.DID_CHANGE_RENEWAL_STATUS;
    expect(namesOf(await history({ notificationType }))).toHaveLength(3);
    const notificationSubtype = Subtype.AUTO_RENEW_ENABLED;
    expect(namesOf(await history({ notificationType, notificationSubtype }))).toEqual([
      "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED",
    ]);
  });

  test("can be limited to a person, by any transaction id", async () => {
    const original = await buy();
    const other = await buy({ type: "Consumable" });
    const others = await buy({ type: "Non-Consumable" }, { appTransactionIdentifier: "705" });
    await under.store.change(original, { change: "rescind-consent" });
    await under.store.change(others, { change: "rescind-consent" });
    await under.store.notify("test");
    for (const transactionId of [original, other]) {
      const answered = await under.client.getNotificationHistory(null, {
        startDate: NOW - DAY,
        endDate: NOW + DAY,
        transactionId,
      });
      expect(answered.notificationHistory?.map(({ signedPayload }) => signedPayload)).toEqual(
        [0, 1, 3].map((index) => under.received[index]?.signedPayload),
      );
    }
    await expect(history({ transactionId: "200000000000001" })).rejects.toMatchObject(
      failure(APIError.TRANSACTION_ID_NOT_FOUND),
    );
  });

  test("is the app's own, whatever the notifications are about", async () => {
    await under.store.notify("test");
    await under.store.notify("external-purchase-token");
    await under.store.notify("renewal-extension-summary");
    await under.store.notify("test", { bundleIdentifier: "com.example.other" });
    const times = { startDate: NOW - DAY, endDate: NOW + DAY };
    const own = await under.client.getNotificationHistory(null, times);
    expect(own.notificationHistory).toHaveLength(3);
    const others = await under.clientOf("com.example.other").getNotificationHistory(null, times);
    expect(others.notificationHistory).toHaveLength(1);
  });

  test("spans a time by the first try, its end excluded", async () => {
    for (const at of [NOW, NOW + HOUR, NOW + 2 * HOUR]) {
      under.now = at;
      await under.store.notify("test");
    }
    under.now = NOW + DAY;
    const { sent } = await history({ startDate: NOW + HOUR, endDate: NOW + 2 * HOUR });
    expect(sent.map(({ sendAttempts }) => sendAttempts[0]?.attemptDate)).toEqual([NOW + HOUR]);
  });

  test("comes in pages of twenty, oldest first", async () => {
    for (let sent = 0; sent < 41; sent++) await under.store.notify("test");
    const payloads: string[] = [];
    const sizes: number[] = [];
    const request = { startDate: NOW - DAY, endDate: NOW + DAY };
    let token: string | null = null;
    for (let more: boolean | undefined = true; more;) {
      const page = await history(request, token);
      payloads.push(...page.sent.map(({ signedPayload }) => signedPayload));
      sizes.push(page.sent.length);
      more = page.hasMore;
      token = page.paginationToken ?? null;
    }
    expect(sizes).toEqual([20, 20, 1]);
    expect(payloads).toEqual(under.received.map(({ signedPayload }) => signedPayload));
  });

  test("a page's token is for the same request", async () => {
    for (let sent = 0; sent < 21; sent++) await under.store.notify("test");
    const { paginationToken = "" } = await history();
    for (const [request, token] of [
      [{ onlyFailures: true }, paginationToken],
      [{}, "abc"],
    ] as const)
      await expect(history(request, token)).rejects.toMatchObject(failure(APIError.INVALID_PAGINATION_TOKEN));
    under.store.reset();
    await expect(history({}, paginationToken)).rejects.toMatchObject(
      failure(APIError.PAGINATION_TOKEN_EXPIRED),
    );
  });

  const TIMES = { startDate: NOW - DAY, endDate: NOW };
  test.each([
    [{ endDate: NOW }, APIError.INVALID_START_DATE],
    [{ startDate: NOW }, APIError.INVALID_END_DATE],
    [{ startDate: "2026-06-15", endDate: NOW }, APIError.INVALID_START_DATE],
    [{ startDate: NOW, endDate: NOW }, APIError.START_DATE_AFTER_END_DATE],
    [{ startDate: NOW - 180 * DAY - 1, endDate: NOW }, APIError.START_DATE_TOO_FAR_IN_PAST],
    [{ ...TIMES, notificationType: "MOVED" }, APIError.INVALID_NOTIFICATION_TYPE],
    [{ ...TIMES, notificationSubtype: "UPGRADE" }, APIError.INVALID_NOTIFICATION_TYPE],
    [{ ...TIMES, notificationType: "TEST", transactionId: "1" }, APIError.MULTIPLE_FILTERS_SUPPLIED],
    [{ ...TIMES, transactionId: "abc" }, APIError.INVALID_TRANSACTION_ID],
    [{ ...TIMES, onlyFailures: "yes" }, APIError.GENERAL_BAD_REQUEST],
    ["all", APIError.GENERAL_BAD_REQUEST],
  ])("%j is refused", async (body, errorCode) => {
    expect(await under.request("POST", "/inApps/v1/notifications/history", body)).toEqual(refusal(errorCode));
  });

  test("goes back 180 days", async () => {
    await under.store.notify("test");
    under.now = NOW + 180 * DAY;
    expect(namesOf(await history({ startDate: NOW }))).toEqual(["TEST"]);
    await under.store.notify("test");
    expect(JSON.parse(under.store.save()).pushes.history).toHaveLength(1);
  });

  test("keeps no more than the last 500", async () => {
    under.answers = 500;
    await buy({ period: "P1D", type: "Auto-Renewable Subscription" });
    under.answers = 200;
    const { pushes, ...state } = JSON.parse(under.store.save());
    const [push] = pushes.history;
    const many = Array.from({ length: 500 }, (_, index) => ({ ...push, signedPayload: `${index}` }));
    const store = reopened(JSON.stringify({ ...state, pushes: { ...pushes, history: many } }));
    await store.notify("test");
    const kept = JSON.parse(store.save()).pushes.history;
    expect(kept).toHaveLength(500);
    expect(kept[0].signedPayload).toBe("1");
  });

  test("is saved; without a saved one it is empty", async () => {
    await buy();
    const saved = under.store.save();
    Object.assign(under, { store: reopened(saved) });
    expect(namesOf(await history())).toEqual(["SUBSCRIBED INITIAL_BUY"]);
    const { pushes, ...state } = JSON.parse(saved);
    const { history: _, unsent: __, ...older } = pushes;
    Object.assign(under, { store: reopened(JSON.stringify({ ...state, pushes: older })) });
    expect(namesOf(await history())).toEqual([]);
  });

  test("forgets with the store", async () => {
    await buy();
    under.store.reset();
    expect(namesOf(await history())).toEqual([]);
  });

  describe("says why a notification did not arrive:", () => {
    const resultOf = async (url: string) => {
      under.url = url;
      await under.store.notify("test");
      return (await history()).sent.at(-1)?.results;
    };

    test("nobody listens", async () => {
      const server = createServer();
      const port = await listen(server, 0);
      await close(server);
      expect(await resultOf(`http://127.0.0.1:${port}/`)).toEqual(["SOCKET_ISSUE"]);
    });

    test("the connection is closed without a response", async () => {
      const server = createServer((request) => request.socket.destroy());
      expect(await resultOf(`http://127.0.0.1:${await listen(server, 0)}/`)).toEqual(["NO_RESPONSE"]);
      await close(server);
    });

    test("the address is none", async () => {
      expect(await resultOf("nowhere")).toEqual(["OTHER"]);
    });

    test("the server does not answer in time", async () => {
      const server = createServer(() => undefined);
      under.url = `http://127.0.0.1:${await listen(server, 0)}/`;
      Object.assign(under, { store: reopened(null, 50) });
      expect(await resultOf(under.url)).toEqual(["TIMED_OUT"]);
      await close(server);
    });
  });
});

describe("a test notification", () => {
  const statusOf = async (token: string) => {
    const { body } = await under.request("GET", `/inApps/v1/notifications/test/${token}`);
    return body;
  };

  test("is sent on request, and its token tells how it went", async () => {
    under.answers = 500;
    const { testNotificationToken = "" } = await under.client.requestTestNotification();
    await until(() => JSON.parse(under.store.save()).pushes.history.length === 1);
    expect(await statusOf(testNotificationToken)).toEqual({
      signedPayload: under.received[0]?.signedPayload,
      sendAttempts: [{ attemptDate: NOW, sendAttemptResult: "UNSUCCESSFUL_HTTP_RESPONSE_CODE" }],
    });
    expect((await under.pushed()).map(({ name }) => name)).toEqual(["TEST"]);
    await expect(
      under.clientOf("com.example.other").getTestNotificationStatus(testNotificationToken),
    ).rejects.toMatchObject(failure(APIError.TEST_NOTIFICATION_NOT_FOUND));
  });

  test("may be requested by whoever takes a notification", async () => {
    const receiver = createServer((_, response) => {
      void (async () => {
        tokens.push(tokens.length === 0 ? await under.client.requestTestNotification() : {});
        response.end();
      })();
    });
    const tokens: object[] = [];
    under.url = `http://127.0.0.1:${await listen(receiver, 0)}/`;
    await under.store.notify("test");
    await until(() => tokens.length === 2);
    expect(tokens[0]).toEqual({ testNotificationToken: expect.any(String) });
    await close(receiver);
  });

  test("needs an address", async () => {
    under.url = null;
    await expect(under.client.requestTestNotification()).rejects.toMatchObject(
      failure(APIError.SERVER_NOTIFICATION_URL_NOT_FOUND),
    );
  });

  test("a token that is malformed is refused", async () => {
    await expect(under.client.getTestNotificationStatus("abc")).rejects.toMatchObject(
      failure(APIError.INVALID_TEST_NOTIFICATION_TOKEN),
    );
  });
});

const reopened = (saved: string | null, pushTimeout?: number) =>
  createIosStoreSandbox({
    prefix: "/store",
    signer: chain,
    bundleIdentifier: BUNDLE,
    appAppleIdentifier: APPLE_ID,
    now: () => under.now,
    notificationUrl: () => under.url,
    saved,
    serverKey: under.store.serverKey,
    ...(pushTimeout !== undefined && { pushTimeout }),
  });
