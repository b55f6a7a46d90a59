import {
  AN_APP_TRANSACTION,
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
  const PAGE = "a b&c=/";
  const ENCODED = "a+b%26c%3D%2F";
  const latest = { signedTransactions: ["t2", "t1"], hasMore: true, revision: PAGE };
  const failed = { notificationHistory: [{ signedPayload: "n1" }], hasMore: true, paginationToken: PAGE };

  test.each<[request: string, (client: Client) => Promise<unknown>, answer: object, unknown]>([
    [
      `GET v1/subscriptions/${TRANSACTION}`,
      (client) => client.subscriptionStatuses(APP, TRANSACTION),
      { data: [] },
      { signedTransactions: [], signedRenewalInfos: [] },
    ],
    [
      `GET v1/transactions/appTransactions/${TRANSACTION}`,
      (client) => client.appTransaction(APP, TRANSACTION),
      { signedAppTransactionInfo: "a1" },
      "a1",
    ],
    [
      `GET v2/history/${TRANSACTION}?sort=DESCENDING`,
      (client) => client.transactionHistory(APP, TRANSACTION, null),
      latest,
      { signedTransactions: ["t2", "t1"], next: PAGE },
    ],
    [
      `GET v2/history/${TRANSACTION}?sort=DESCENDING&revision=${ENCODED}`,
      (client) => client.transactionHistory(APP, TRANSACTION, PAGE),
      { ...latest, hasMore: false },
      { signedTransactions: ["t2", "t1"], next: null },
    ],
    [
      "POST v1/notifications/history",
      (client) => client.notificationHistory(APP, FAILED, null),
      failed,
      { signedPayloads: ["n1"], next: PAGE },
    ],
    [
      `POST v1/notifications/history?paginationToken=${ENCODED}`,
      (client) => client.notificationHistory(APP, FAILED, PAGE),
      { ...failed, hasMore: false },
      { signedPayloads: ["n1"], next: null },
    ],
  ])("by %s", async (question, ask, body, content) => {
    store.script = [{ status: 200, body }];
    expect(await ask(store.aClient().client)).toStrictEqual({ outcome: "answered", content });
    const json = "application/json";
    const types = [question.startsWith("GET") ? undefined : json, json];
    const request = question.replace(" ", " /apple/inApps/");
    expect(store.received).toMatchObject([{ request, types }]);
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
    ["production", "https://api.storekit.apple.com/inApps/v1/transactions/appTransactions/1"],
    ["sandbox", "https://api.storekit-sandbox.apple.com/inApps/v1/transactions/appTransactions/1"],
  ] as const)("at Apple's host for %s unless another is named", async (environment, address) => {
    const asked: string[] = [];
    const { client } = store.aClient({
      rootUrl: undefined,
      fetch: async (url) => {
        asked.push(String(url));
        return Response.json({ signedAppTransactionInfo: "a" });
      },
    });
    expect(await client.appTransaction({ ...APP, environment }, "1")).toMatchObject({ outcome: "answered" });
    expect(asked).toStrictEqual([address]);
  });

  test.each(["", "abc", "1/2", "../1", "1?a=b", "٣", "1\n", "1".repeat(65)])(
    "never about %j, which names no transaction",
    async (identifier) => {
      const { client, secretsRead } = store.aClient();
      const unknown = { outcome: "unknown", status: null, reason: "InvalidTransactionId" };
      for (const answer of [
        client.subscriptionStatuses(APP, identifier),
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
  const tooLong = { signedAppTransactionInfo: "a".repeat(4 * 1024 * 1024) };

  const unknown = { outcome: "unknown", status: 404, reason: "TransactionIdNotFound" };
  const rejected = { outcome: "credential-rejected", status: 401, reason: null };
  const limited = { ...unavailable(429, "RateLimitExceeded"), retryAt: NOW + 90_000 };
  const redirects = { status: 302, headers: { location: "/apple/elsewhere" } };

  test.each<[string, Scripted, unknown, number]>([
    ["of an unknown transaction is not retried", coded(4040010), unknown, 1],
    ["of a refused key just read is not retried", { status: 401, body: "MESSAGE" }, rejected, 1],
    ["with Retry-After is not retried", coded(4290000, { "retry-after": "90" }), limited, 1],
    ["is retried once", { status: 503, body: "<html>MESSAGE</html>" }, unavailable(503, null), 2],
    ["of 204 is retried once", { status: 204 }, unavailable(204, null), 2],
    ["that redirects is not followed", redirects, unavailable(302, null), 2],
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
      expect(await store.met(fault, AN_APP_TRANSACTION)).toMatchObject(answered);
    },
  );

  test("that does not come within the total limit is not retried", async () => {
    store.otherwise = "hang";
    const { client } = store.aClient({ timing: { request: 5_000, pause: 5_000, total: 200 } });
    const started = performance.now();
    expect(await client.appTransaction(APP, TRANSACTION)).toMatchObject({ outcome: "unavailable" });
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(store.received).toHaveLength(1);
  });
});
