import {
  A_TRANSACTION,
  APP,
  NOW,
  scriptedAppStore,
  TRANSACTION,
  type Scripted,
} from "./scripted-app-store.ts";

const FAILED = { from: NOW - 3_600_000, to: NOW, onlyFailures: true };
const store = scriptedAppStore();

const unavailable = (status: number | null, reason: string | null) => ({
  outcome: "unavailable",
  retryAt: null,
  status,
  reason,
});

describe("a question is asked", () => {
  type Client = ReturnType<typeof store.aClient>["client"];

  test.each<[string, (client: Client) => Promise<unknown>, string, object, unknown]>([
    [
      "about the subscriptions of a person",
      (client) => client.subscriptionStatuses(APP, TRANSACTION),
      `GET /apple/inApps/v1/subscriptions/${TRANSACTION}`,
      { data: [] },
      { signedTransactions: [], signedRenewalInfos: [] },
    ],
    [
      "about one transaction",
      (client) => client.transaction(APP, TRANSACTION),
      `GET /apple/inApps/v1/transactions/${TRANSACTION}`,
      { signedTransactionInfo: "t1" },
      { signedTransactions: ["t1"], signedRenewalInfos: [] },
    ],
    [
      "about an app transaction",
      (client) => client.appTransaction(APP, TRANSACTION),
      `GET /apple/inApps/v1/transactions/appTransactions/${TRANSACTION}`,
      { signedAppTransactionInfo: "a1" },
      "a1",
    ],
    [
      "about all transactions of a person, the latest first",
      (client) => client.transactionHistory(APP, TRANSACTION, null),
      `GET /apple/inApps/v2/history/${TRANSACTION}?sort=DESCENDING`,
      { signedTransactions: ["t1", "t2"], hasMore: true, revision: "a b&c=/" },
      { signedTransactions: ["t1", "t2"], next: "a b&c=/" },
    ],
    [
      "about their next page",
      (client) => client.transactionHistory(APP, TRANSACTION, "a b&c=/"),
      `GET /apple/inApps/v2/history/${TRANSACTION}?sort=DESCENDING&revision=a+b%26c%3D%2F`,
      { signedTransactions: ["t3"], hasMore: false, revision: "last" },
      { signedTransactions: ["t3"], next: null },
    ],
    [
      "about notifications that failed",
      (client) => client.notificationHistory(APP, FAILED, null),
      "POST /apple/inApps/v1/notifications/history",
      { notificationHistory: [{ signedPayload: "n1" }], hasMore: true, paginationToken: "page/2" },
      { signedPayloads: ["n1"], next: "page/2" },
    ],
    [
      "about the next page of them",
      (client) => client.notificationHistory(APP, FAILED, "page/2"),
      "POST /apple/inApps/v1/notifications/history?paginationToken=page%2F2",
      { notificationHistory: [], hasMore: false },
      { signedPayloads: [], next: null },
    ],
  ])("%s", async (_, ask, request, body, content) => {
    store.script = [{ status: 200, body }];
    expect(await ask(store.aClient().client)).toStrictEqual({ outcome: "answered", content });
    expect(store.received).toMatchObject([{ request }]);
    const json = "application/json";
    expect(store.received[0]?.types).toStrictEqual([request.startsWith("GET") ? undefined : json, json]);
  });

  test.each([true, false])("with the period of notifications, and onlyFailures %j", async (onlyFailures) => {
    await store.aClient().client.notificationHistory(APP, { ...FAILED, onlyFailures }, null);
    expect(JSON.parse(store.received[0]?.body ?? "")).toStrictEqual({
      startDate: FAILED.from,
      endDate: FAILED.to,
      onlyFailures,
    });
  });

  test.each([
    ["production", "https://api.storekit.apple.com/inApps/v1/transactions/1"],
    ["sandbox", "https://api.storekit-sandbox.apple.com/inApps/v1/transactions/1"],
  ] as const)("at Apple's host for %s unless another is named", async (environment, address) => {
    const asked: string[] = [];
    const { client } = store.aClient({
      rootUrl: undefined,
      fetch: async (url) => {
        asked.push(String(url));
        return Response.json({ signedTransactionInfo: "t" });
      },
    });
    expect(await client.transaction({ ...APP, environment }, "1")).toMatchObject({ outcome: "answered" });
    expect(asked).toStrictEqual([address]);
  });

  test.each(["", "abc", "1/2", "../1", "1?a=b", "٣", "1\n", "1".repeat(65)])(
    "never about %j, which names no transaction",
    async (identifier) => {
      const { client, secretsRead } = store.aClient();
      const unknown = { outcome: "unknown", status: null, reason: "InvalidTransactionId" };
      for (const answer of [
        client.subscriptionStatuses(APP, identifier),
        client.transaction(APP, identifier),
        client.appTransaction(APP, identifier),
        client.transactionHistory(APP, identifier, null),
      ])
        expect(await answer).toStrictEqual(unknown);
      expect([...store.received, ...secretsRead]).toStrictEqual([]);
    },
  );
});

describe("an answer", () => {
  const coded = (errorCode: number, headers: Record<string, string> = {}): Scripted => ({
    status: Math.floor(errorCode / 10_000),
    headers,
    body: { errorCode, errorMessage: "A MESSAGE." },
  });
  const malformed = unavailable(200, "malformedAnswer");
  const tooLong = { signedTransactionInfo: "a".repeat(4 * 1024 * 1024) };

  test.each<[string, Scripted, unknown, number]>([
    [
      "of an unknown transaction is not retried",
      coded(4040010),
      { outcome: "unknown", status: 404, reason: "TransactionIdNotFound" },
      1,
    ],
    [
      "of a refused key just read is not retried",
      { status: 401, body: "MESSAGE" },
      { outcome: "credential-rejected", status: 401, reason: null },
      1,
    ],
    [
      "with Retry-After is not retried",
      coded(4290000, { "retry-after": "90" }),
      { ...unavailable(429, "RateLimitExceeded"), retryAt: NOW + 90_000 },
      1,
    ],
    ["is retried once", { status: 503, body: "<html>MESSAGE</html>" }, unavailable(503, null), 2],
    ["of 204 is retried once", { status: 204 }, unavailable(204, null), 2],
    [
      "that redirects is not followed",
      { status: 302, headers: { location: "/apple/elsewhere" } },
      unavailable(302, null),
      2,
    ],
    ["that is a page is malformed, and not retried", { status: 200, body: "<html>MESSAGE" }, malformed, 1],
    ["of another shape is malformed", { status: 200, body: {} }, malformed, 1],
    ["of more than 4 MiB is malformed", { status: 200, body: tooLong }, malformed, 1],
    ["that never comes is retried once: a connection", "disconnect", unavailable(null, "connection"), 2],
    ["that never comes is retried once: a time limit", "hang", unavailable(null, "timeout"), 2],
  ])("%s", async (_, scripted, answer, requests) => {
    expect(await store.met(scripted)).toStrictEqual({ answer, requests });
    expect(new Set(store.received.map(({ request }) => request)).size).toBe(1);
  });

  test.each<Scripted>([{ status: 503 }, "disconnect-in-body", "hang-in-body"])(
    "after %j is that of the retry",
    async (fault) => {
      const answered = { answer: { outcome: "answered" }, requests: 2 };
      expect(await store.met(fault, A_TRANSACTION)).toMatchObject(answered);
    },
  );

  test("that does not come within the total limit is not retried", async () => {
    store.otherwise = "hang";
    const { client } = store.aClient({ timing: { request: 5_000, pause: 5_000, total: 200 } });
    const started = performance.now();
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "unavailable" });
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(store.received).toHaveLength(1);
  });
});
