import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeProtectedHeader, jwtVerify } from "jose";
import type { Instant } from "../../../lib/entitlements/time.ts";
import {
  createAppStoreServer,
  type AppStoreAnswer,
  type AppStoreApp,
  type AppStoreServer,
  type AppStoreServerOptions,
} from "../../../lib/stores/ios-store/server-api/app-store-server.ts";

const NOW: Instant = Date.UTC(2026, 0, 15, 12);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TRANSACTION = "2000000123456789";

/** Long enough for a busy machine, so that only deliberate faults time out. */
const TIMING = { request: 5_000, pause: 10, total: 15_000 };
/** Short, for requests that hang on purpose. */
const HASTY = { request: 300, pause: 10, total: 1_500 };

const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();
const aKey = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });

const KEY = aKey();
const KEY_LINES = pemOf(KEY.privateKey)
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("-"));

const APP: AppStoreApp = {
  bundleIdentifier: "com.example.trails",
  environment: "production",
  key: {
    issuerIdentifier: "57246542-96fe-1a63-e053-0824d011072a",
    keyIdentifier: "2X9R4HXF34",
    secret: "trails/app-store-key",
  },
};

/** An answer, or how the connection fails: without one, after its head, or never. */
type Scripted =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | "disconnect"
  | "disconnect-in-body"
  | "hang"
  | "hang-in-body";

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string;
  /** Media types: of the body, and those that may be answered. */
  readonly types: readonly (string | undefined)[];
  readonly body: string;
}

const received: Received[] = [];
let script: Scripted[] = [];
let otherwise: Scripted = { status: 500 };

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
};

const respond = (response: ServerResponse, scripted: Scripted): void => {
  if (scripted === "hang") return;
  if (scripted === "disconnect") {
    response.destroy();
    return;
  }
  if (typeof scripted === "string") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"signed', () => scripted === "disconnect-in-body" && response.destroy());
    return;
  }
  const { status, headers = {}, body = "" } = scripted;
  response.writeHead(status, headers);
  response.end(typeof body === "string" ? body : JSON.stringify(body));
};

const server = createServer((request, response) => {
  const { method, url, headers } = request;
  const answer = (body: string): void => {
    const types = [headers["content-type"], headers.accept];
    received.push({ method, url, authorization: headers.authorization ?? "", types, body });
    respond(response, script.shift() ?? otherwise);
  };
  textOf(request).then(answer, () => response.destroy());
});
let rootUrl = "";

beforeAll(async () => {
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  rootUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/apple`;
});
afterAll(async () => {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
});
beforeEach(() => {
  received.length = 0;
  script = [];
  otherwise = { status: 500 };
});

/** A client with empty caches, and the names of the secrets that it has read. */
const aClient = (
  options: Partial<AppStoreServerOptions> & { readonly secret?: () => Promise<string | null> } = {},
) => {
  const { secret = async () => pemOf(KEY.privateKey), ...others } = options;
  const secretsRead: string[] = [];
  const client: AppStoreServer = createAppStoreServer({
    rootUrl,
    readSecret: (name) => {
      secretsRead.push(name);
      return secret();
    },
    now: () => NOW,
    timing: TIMING,
    ...others,
  });
  return { client, secretsRead };
};

const A_TRANSACTION = { status: 200, body: { signedTransactionInfo: "a.transaction.jws" } };

/** Outcome of a question about one transaction that meets these answers, and the number of requests. */
const met = async (...answers: Scripted[]) => {
  script = answers;
  otherwise = answers.at(-1) ?? otherwise;
  const { client } = aClient(
    answers.some((answer) => typeof answer === "string" && answer.startsWith("hang"))
      ? { timing: HASTY }
      : {},
  );
  const answer = await client.transaction(APP, TRANSACTION);
  expectNoSecrets(answer);
  return { answer, requests: received.length };
};

const expectNoSecrets = (answer: AppStoreAnswer<unknown>): void => {
  const text = JSON.stringify(answer);
  for (const { authorization } of received)
    expect(text).not.toContain(authorization.replace("Bearer ", "") || "none");
  for (const line of KEY_LINES) expect(text).not.toContain(line);
  expect(text).not.toContain(APP.key.secret);
  expect(text).not.toContain("MESSAGE");
};

const apple = (errorCode: number, headers: Record<string, string> = {}): Scripted => ({
  status: Math.floor(errorCode / 10_000),
  headers,
  body: { errorCode, errorMessage: "A MESSAGE." },
});

const tokensUsed = () => new Set(received.map(({ authorization }) => authorization)).size;

describe("a question is asked", () => {
  test("about a person's subscriptions, and which are in billing grace", async () => {
    const lastTransactions = [
      { status: 4, signedTransactionInfo: "t1", signedRenewalInfo: "r1" },
      { status: 3, signedTransactionInfo: "t2", signedRenewalInfo: "r2" },
      { status: "4", signedTransactionInfo: "t3", signedRenewalInfo: "r3" },
      { status: 4, signedTransactionInfo: "t4" },
    ];
    script = [{ status: 200, body: { data: [{ lastTransactions }] } }];
    expect(await aClient().client.subscriptionStatuses(APP, TRANSACTION)).toMatchObject({
      content: { signedRenewalInfos: ["r1", "r2", "r3"], signedInGrace: ["r1"] },
    });
  });
  test("about the subscriptions of a person", async () => {
    script = [
      {
        status: 200,
        body: {
          environment: "Production",
          bundleId: APP.bundleIdentifier,
          data: [
            {
              subscriptionGroupIdentifier: "1",
              lastTransactions: [
                { status: 1, signedTransactionInfo: "t1", signedRenewalInfo: "r1" },
                { status: 2, signedTransactionInfo: "t2", signedRenewalInfo: "r2" },
              ],
            },
            { subscriptionGroupIdentifier: "2", lastTransactions: [{ signedTransactionInfo: "t3" }] },
          ],
        },
      },
    ];
    expect(await aClient().client.subscriptionStatuses(APP, TRANSACTION)).toStrictEqual({
      outcome: "answered",
      content: { signedTransactions: ["t1", "t2", "t3"], signedRenewalInfos: ["r1", "r2"] },
    });
    expect(received).toMatchObject([
      { method: "GET", url: `/apple/inApps/v1/subscriptions/${TRANSACTION}`, body: "" },
    ]);
  });

  test("about the subscriptions of a person who has none", async () => {
    script = [{ status: 200, body: { data: [] } }];
    expect(await aClient().client.subscriptionStatuses(APP, TRANSACTION)).toStrictEqual({
      outcome: "answered",
      content: { signedTransactions: [], signedRenewalInfos: [] },
    });
  });

  test("about one transaction", async () => {
    script = [A_TRANSACTION];
    expect(await aClient().client.transaction(APP, TRANSACTION)).toStrictEqual({
      outcome: "answered",
      content: { signedTransactions: ["a.transaction.jws"], signedRenewalInfos: [] },
    });
    expect(received).toMatchObject([
      {
        method: "GET",
        url: `/apple/inApps/v1/transactions/${TRANSACTION}`,
        types: [undefined, "application/json"],
        body: "",
      },
    ]);
  });

  test("about all transactions of a person, page by page", async () => {
    script = [
      { status: 200, body: { signedTransactions: ["t1", "t2"], hasMore: true, revision: "a b&c=/" } },
      { status: 200, body: { signedTransactions: ["t3"], hasMore: false, revision: "last" } },
    ];
    const { client } = aClient();
    expect(await client.transactionHistory(APP, TRANSACTION, null)).toStrictEqual({
      outcome: "answered",
      content: { signedTransactions: ["t1", "t2"], next: "a b&c=/" },
    });
    expect(await client.transactionHistory(APP, TRANSACTION, "a b&c=/")).toStrictEqual({
      outcome: "answered",
      content: { signedTransactions: ["t3"], next: null },
    });
    const urls = received.map(({ url = "" }) => new URL(url, rootUrl));
    expect(urls.map(({ pathname }) => pathname)).toStrictEqual(
      Array(2).fill(`/apple/inApps/v2/history/${TRANSACTION}`),
    );
    expect(urls.map(({ searchParams }) => [...searchParams])).toStrictEqual([
      [["sort", "DESCENDING"]],
      [
        ["sort", "DESCENDING"],
        ["revision", "a b&c=/"],
      ],
    ]);
  });

  test.each([{}, { revision: "" }, { revision: null }, { revision: "this" }])(
    "a history's last page may name any next one: %j",
    async (named) => {
      script = [{ status: 200, body: { signedTransactions: ["t1"], hasMore: false, ...named } }];
      expect(await aClient().client.transactionHistory(APP, TRANSACTION, "this")).toStrictEqual({
        outcome: "answered",
        content: { signedTransactions: ["t1"], next: null },
      });
    },
  );

  test("about notifications that failed, page by page", async () => {
    script = [
      {
        status: 200,
        body: {
          notificationHistory: [{ signedPayload: "n1", sendAttempts: [{ attemptDate: 1 }] }],
          hasMore: true,
          paginationToken: "page/2",
        },
      },
      { status: 200, body: { notificationHistory: [], hasMore: false } },
    ];
    const { client } = aClient();
    const period = { from: NOW - HOUR, to: NOW, onlyFailures: true };
    expect(await client.notificationHistory(APP, period, null)).toStrictEqual({
      outcome: "answered",
      content: { signedPayloads: ["n1"], next: "page/2" },
    });
    expect(await client.notificationHistory(APP, period, "page/2")).toStrictEqual({
      outcome: "answered",
      content: { signedPayloads: [], next: null },
    });
    expect(received.map(({ method, url }) => `${method} ${url}`)).toStrictEqual([
      "POST /apple/inApps/v1/notifications/history",
      "POST /apple/inApps/v1/notifications/history?paginationToken=page%2F2",
    ]);
    for (const { types } of received) expect(types).toStrictEqual(["application/json", "application/json"]);
    for (const { body } of received)
      expect(JSON.parse(body)).toStrictEqual({ startDate: NOW - HOUR, endDate: NOW, onlyFailures: true });
  });

  test("about all notifications of a period", async () => {
    script = [{ status: 200, body: { notificationHistory: [], hasMore: false } }];
    await aClient().client.notificationHistory(APP, { from: NOW - HOUR, to: NOW, onlyFailures: false }, null);
    expect(received.map(({ body }) => JSON.parse(body) as unknown)).toStrictEqual([
      { startDate: NOW - HOUR, endDate: NOW, onlyFailures: false },
    ]);
  });

  test.each([
    ["production", "https://api.storekit.apple.com/inApps/v1/transactions/1"],
    ["sandbox", "https://api.storekit-sandbox.apple.com/inApps/v1/transactions/1"],
  ] as const)("at Apple's host for %s unless another is named", async (environment, address) => {
    const asked: string[] = [];
    const { client } = aClient({
      rootUrl: undefined,
      fetch: async (url) => {
        asked.push(String(url));
        return Response.json({ signedTransactionInfo: "t" });
      },
    });
    expect(await client.transaction({ ...APP, environment }, "1")).toMatchObject({ outcome: "answered" });
    expect(asked).toStrictEqual([address]);
  });

  test.each(["", "abc", "1/2", "../1", "1?a=b", "-1", "1e3", "٣", " 1", "1\n", "1".repeat(65)])(
    "never about %j, which no transaction can be called",
    async (identifier) => {
      const { client, secretsRead } = aClient();
      const unknown = { outcome: "unknown", status: null, reason: "InvalidTransactionId" };
      expect(await client.subscriptionStatuses(APP, identifier)).toStrictEqual(unknown);
      expect(await client.transaction(APP, identifier)).toStrictEqual(unknown);
      expect(await client.transactionHistory(APP, identifier, null)).toStrictEqual(unknown);
      expect([...received, ...secretsRead]).toStrictEqual([]);
    },
  );
});

describe("an answer other than 200", () => {
  test.each([
    [4040010, "TransactionIdNotFound"],
    [4040005, "OriginalTransactionIdNotFound"],
    [4040001, "AccountNotFound"],
    [4000006, "InvalidTransactionId"],
    [4000008, "InvalidOriginalTransactionId"],
  ])("with the code %i is unknown, without a retry", async (code, reason) => {
    expect(await met(apple(code))).toStrictEqual({
      answer: { outcome: "unknown", status: Math.floor(code / 10_000), reason },
      requests: 1,
    });
  });

  const forbidden = (code: string): Scripted => ({
    status: 403,
    body: { errors: [{ status: "403", code, title: "A MESSAGE.", detail: "A MESSAGE." }] },
  });
  test.each<[string, Scripted, number, string | null]>([
    ["401 and no body", { status: 401 }, 401, null],
    ["401 and a text", { status: 401, body: "Unauthenticated MESSAGE" }, 401, null],
    [
      "401 and a reason",
      { status: 401, body: { errors: [{ code: "NOT_AUTHORIZED" }] } },
      401,
      "NOT_AUTHORIZED",
    ],
    ["403 and a missing permission", forbidden("FORBIDDEN_ERROR"), 403, "FORBIDDEN_ERROR"],
    [
      "403 and an unsigned agreement",
      forbidden("FORBIDDEN.REQUIRED_AGREEMENTS_MISSING_OR_EXPIRED"),
      403,
      "FORBIDDEN.REQUIRED_AGREEMENTS_MISSING_OR_EXPIRED",
    ],
    ["403 and a code", apple(4030000), 403, "4030000"],
    ["the code of an unknown app", apple(4040003), 404, "AppNotFound"],
  ])(
    "with %s is credential-rejected, without a retry of a key just read",
    async (_, scripted, status, reason) => {
      expect(await met(scripted)).toStrictEqual({
        answer: { outcome: "credential-rejected", status, reason },
        requests: 1,
      });
    },
  );

  test.each<[string, Scripted, number, string | null]>([
    ["a code that may pass: 4040002", apple(4040002), 404, "AccountNotFoundRetryable"],
    ["a code that may pass: 4040004", apple(4040004), 404, "AppNotFoundRetryable"],
    ["a code that may pass: 4040006", apple(4040006), 404, "OriginalTransactionIdNotFoundRetryable"],
    ["a code that may pass: 5000001", apple(5000001), 500, "GeneralInternalRetryable"],
    ["429", apple(4290000), 429, "RateLimitExceeded"],
    ["500 and no body", { status: 500 }, 500, null],
    ["503 and a page", { status: 503, body: "<html>MESSAGE</html>" }, 503, null],
    ["404 of a proxy", { status: 404, body: "<html>MESSAGE</html>" }, 404, null],
    ["404 and a code of another status", { status: 404, body: { errorCode: 4000006 } }, 404, null],
    ["400 and a code of 404", { status: 400, body: { errorCode: 4040010 } }, 400, null],
    ["404 and a code that is text", { status: 404, body: { errorCode: "4040010" } }, 404, null],
    ["a code of next year", apple(4040999), 404, "4040999"],
    ["403 of a proxy", { status: 403, body: "<html>MESSAGE</html>" }, 403, null],
    ["403 and another reason", forbidden("RATE_LIMITED"), 403, "RATE_LIMITED"],
    ["a reason that is a sentence", forbidden("A MESSAGE."), 403, null],
    ["an error of another shape", { status: 503, body: { error: "A MESSAGE." } }, 503, null],
    ["no list of errors", { status: 503, body: { errors: "A MESSAGE." } }, 503, null],
    ["an empty list of errors", { status: 503, body: { errors: [] } }, 503, null],
    ["errors without a reason", { status: 503, body: { errors: [{}] } }, 503, null],
    ["a reason that is no text", { status: 503, body: { errors: [{ code: 1 }] } }, 503, null],
    ["204", { status: 204 }, 204, null],
    ["a redirect", { status: 302, headers: { location: "/apple/elsewhere" } }, 302, null],
  ])("with %s is unavailable, after one retry", async (_, scripted, status, reason) => {
    expect(await met(scripted)).toStrictEqual({
      answer: { outcome: "unavailable", retryAt: null, status, reason },
      requests: 2,
    });
    expect(new Set(received.map(({ url }) => url)).size).toBe(1);
  });

  test.each<Scripted>([{ status: 503 }, "disconnect", "disconnect-in-body", "hang", "hang-in-body"])(
    "once, %j, is retried, and the second answer counts",
    async (fault) => {
      expect(await met(fault, A_TRANSACTION)).toMatchObject({
        answer: { outcome: "answered" },
        requests: 2,
      });
    },
  );

  test("is retried with the pages that are due", async () => {
    script = [{ status: 500 }, { status: 200, body: { notificationHistory: [], hasMore: false } }];
    const answer = await aClient().client.notificationHistory(
      APP,
      { from: NOW - HOUR, to: NOW, onlyFailures: true },
      "p",
    );
    expect(answer).toMatchObject({ outcome: "answered" });
    const [first, second] = received;
    expect(second).toStrictEqual(first);
  });
});

describe("no answer is unavailable, after one retry:", () => {
  test.each<[Scripted, string]>([
    ["disconnect", "connection"],
    ["disconnect-in-body", "connection"],
    ["hang", "timeout"],
    ["hang-in-body", "timeout"],
  ])("%s, because of %s", async (fault, reason) => {
    expect(await met(fault)).toStrictEqual({
      answer: { outcome: "unavailable", retryAt: null, status: null, reason },
      requests: 2,
    });
  });

  test("a host that does not listen", async () => {
    const { client } = aClient({ rootUrl: "http://127.0.0.1:2" });
    expect(await client.transaction(APP, TRANSACTION)).toStrictEqual({
      outcome: "unavailable",
      retryAt: null,
      status: null,
      reason: "connection",
    });
  });

  test("the total limit ends a question before its retry", async () => {
    otherwise = "hang";
    const { client } = aClient({ timing: { request: 5_000, pause: 5_000, total: 200 } });
    const started = performance.now();
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "unavailable" });
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(received).toHaveLength(1);
  });

  test("the total limit ends the pause, and the first answer counts", async () => {
    const { client } = aClient({ timing: { request: 5_000, pause: 5_000, total: 300 } });
    expect(await client.transaction(APP, TRANSACTION)).toStrictEqual({
      outcome: "unavailable",
      retryAt: null,
      status: 500,
      reason: null,
    });
    expect(received).toHaveLength(1);
  });
});

describe("a 200 of another shape is unavailable, without a retry:", () => {
  const malformed = { outcome: "unavailable", retryAt: null, status: 200, reason: "malformedAnswer" };

  test("but not one of exactly 4 MiB", async () => {
    const empty = JSON.stringify({ signedTransactionInfo: "" }).length;
    const signedTransactionInfo = "a".repeat(4 * 1024 * 1024 - empty);
    expect(await met({ status: 200, body: { signedTransactionInfo } })).toMatchObject({
      answer: { outcome: "answered" },
      requests: 1,
    });
  });

  test.each<[string, unknown]>([
    ["no body", ""],
    ["a page", "<html>MESSAGE</html>"],
    ["half of the JSON", '{"signedTransactionInfo":"a'],
    ["a list", []],
    ["null", "null"],
    ["no transaction", {}],
    ["an empty transaction", { signedTransactionInfo: "" }],
    ["a transaction that is no text", { signedTransactionInfo: { payload: {} } }],
    ["an error", { errorCode: 4040010 }],
    ["more than 4 MiB", { signedTransactionInfo: "a".repeat(4 * 1024 * 1024) }],
    ["nesting", "[".repeat(100_000)],
  ])("%s", async (_, body) => {
    expect(await met({ status: 200, body })).toStrictEqual({ answer: malformed, requests: 1 });
  });

  test.each<[string, unknown]>([
    ["no groups", {}],
    ["groups without transactions", { data: [{}] }],
    [
      "a subscription without its transaction",
      { data: [{ lastTransactions: [{ signedRenewalInfo: "r" }] }] },
    ],
    [
      "renewal info that is no text",
      { data: [{ lastTransactions: [{ signedTransactionInfo: "t", signedRenewalInfo: 1 }] }] },
    ],
  ])("subscriptions with %s", async (_, body) => {
    script = [{ status: 200, body }];
    expect(await aClient().client.subscriptionStatuses(APP, TRANSACTION)).toStrictEqual(malformed);
  });

  test.each<[string, unknown]>([
    ["no transactions", { hasMore: false }],
    ["no word whether there is more", { signedTransactions: [], revision: "r" }],
    ["no next page", { signedTransactions: [], hasMore: true }],
    ["an empty next page", { signedTransactions: [], hasMore: true, revision: "" }],
    ["the page itself as the next one", { signedTransactions: [], hasMore: true, revision: "this" }],
  ])("a history with %s", async (_, body) => {
    script = [{ status: 200, body }];
    expect(await aClient().client.transactionHistory(APP, TRANSACTION, "this")).toStrictEqual(malformed);
  });

  test.each<[string, unknown]>([
    ["no notifications", { hasMore: false }],
    ["a notification without its payload", { notificationHistory: [{}], hasMore: false }],
    ["no next page", { notificationHistory: [], hasMore: true }],
    ["the page itself as the next one", { notificationHistory: [], hasMore: true, paginationToken: "this" }],
  ])("notifications with %s", async (_, body) => {
    script = [{ status: 200, body }];
    const period = { from: NOW - HOUR, to: NOW, onlyFailures: true };
    expect(await aClient().client.notificationHistory(APP, period, "this")).toStrictEqual(malformed);
  });
});

describe("Retry-After is obeyed, without a retry of our own:", () => {
  test.each([
    ["milliseconds since 1970", String(NOW + 5 * MINUTE), NOW + 5 * MINUTE],
    ["seconds since 1970", String((NOW + 5 * MINUTE) / SECOND), NOW + 5 * MINUTE],
    ["seconds to wait", "90", NOW + 90 * SECOND],
    ["an HTTP date", new Date(NOW + MINUTE).toUTCString(), NOW + MINUTE],
    ["no seconds", "0", NOW + SECOND],
    ["a time that has passed", String(NOW - HOUR), NOW + SECOND],
    ["a date that has passed", new Date(NOW - HOUR).toUTCString(), NOW + SECOND],
    ["a time in two hours", String(NOW + 2 * HOUR), NOW + HOUR],
    ["a day of seconds", "86400", NOW + HOUR],
    ["the first number that is a time", "1000000000", NOW + SECOND],
    ["a number beyond all times", "9".repeat(400), NOW + HOUR],
  ])("%s", async (_, header, retryAt) => {
    expect(await met(apple(4290000, { "retry-after": header }))).toStrictEqual({
      answer: { outcome: "unavailable", retryAt, status: 429, reason: "RateLimitExceeded" },
      requests: 1,
    });
  });

  test("on a 503 too", async () => {
    expect(await met({ status: 503, headers: { "retry-after": "2" } })).toStrictEqual({
      answer: { outcome: "unavailable", retryAt: NOW + 2 * SECOND, status: 503, reason: null },
      requests: 1,
    });
  });

  test.each(["", "soon", "-5", "1.5", "1e3", "Thu, never", `at ${new Date(NOW + MINUTE).toUTCString()}`])(
    "%j names no time",
    async (header) => {
      expect(await met(apple(4290000, { "retry-after": header }))).toMatchObject({
        answer: { outcome: "unavailable", retryAt: null },
        requests: 2,
      });
    },
  );
});

describe("a token", () => {
  beforeEach(() => {
    otherwise = A_TRANSACTION;
  });

  test("names the key, issuer and app, and verifies with its public key", async () => {
    await aClient().client.transaction(APP, TRANSACTION);
    const [scheme, token = ""] = received[0]?.authorization.split(" ") ?? [];
    expect(scheme).toBe("Bearer");
    expect(decodeProtectedHeader(token)).toStrictEqual({
      alg: "ES256",
      kid: APP.key.keyIdentifier,
      typ: "JWT",
    });
    const { payload } = await jwtVerify(token, KEY.publicKey, { currentDate: new Date(NOW) });
    expect(payload).toStrictEqual({
      iss: APP.key.issuerIdentifier,
      iat: NOW / SECOND - 60,
      exp: NOW / SECOND + 19 * 60,
      aud: "appstoreconnect-v1",
      bid: APP.bundleIdentifier,
    });
  });

  test("is made once for both environments and concurrent questions", async () => {
    const { client, secretsRead } = aClient();
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        client.transaction(
          { ...APP, environment: index % 2 === 0 ? "production" : "sandbox" },
          String(index),
        ),
      ),
    );
    await client.transaction(APP, TRANSACTION);
    expect(received).toHaveLength(9);
    expect(tokensUsed()).toBe(1);
    expect(secretsRead).toStrictEqual([APP.key.secret]);
  });

  test("is used for 15 minutes; then the key is read again", async () => {
    let now = NOW;
    const { client, secretsRead } = aClient({ now: () => now });
    await client.transaction(APP, TRANSACTION);
    now += 15 * MINUTE - 1;
    await client.transaction(APP, TRANSACTION);
    expect([tokensUsed(), secretsRead.length]).toStrictEqual([1, 1]);
    now += 1;
    await client.transaction(APP, TRANSACTION);
    expect([tokensUsed(), secretsRead.length]).toStrictEqual([2, 2]);
  });

  test("of another app is another; the shared key is read once", async () => {
    let now = NOW;
    const { client, secretsRead } = aClient({ now: () => now });
    const asking = (bundleIdentifier: string) => client.transaction({ ...APP, bundleIdentifier }, "1");
    await asking("a");
    await asking("b");
    now += 5 * MINUTE;
    await asking("c");
    expect(tokensUsed()).toBe(3);
    expect(secretsRead).toHaveLength(2);
  });

  test.each(["issuerIdentifier", "keyIdentifier", "secret"] as const)(
    "of another %s is another one",
    async (field) => {
      const { client } = aClient();
      await client.transaction(APP, TRANSACTION);
      await client.transaction({ ...APP, key: { ...APP.key, [field]: "other" } }, TRANSACTION);
      expect(tokensUsed()).toBe(2);
    },
  );
});

describe("a refused token", () => {
  test("is replaced within the question, with the key as it is now", async () => {
    const rotated = aKey();
    let current = KEY;
    const { client, secretsRead } = aClient({ secret: async () => pemOf(current.privateKey) });
    script = [A_TRANSACTION, { status: 401 }, A_TRANSACTION, A_TRANSACTION];
    await client.transaction(APP, TRANSACTION);
    current = rotated;
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "answered" });
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "answered" });
    expect(received).toHaveLength(4);
    expect(secretsRead).toHaveLength(2);
    const [, , third, fourth] = received.map(({ authorization }) => authorization.replace("Bearer ", ""));
    expect(fourth).toBe(third);
    await jwtVerify(third ?? "", rotated.publicKey, { currentDate: new Date(NOW) });
  });

  test("twice is credential-rejected after two requests", async () => {
    const { client, secretsRead } = aClient();
    script = [A_TRANSACTION];
    otherwise = { status: 401 };
    await client.transaction(APP, TRANSACTION);
    expect(await client.transaction(APP, TRANSACTION)).toStrictEqual({
      outcome: "credential-rejected",
      status: 401,
      reason: null,
    });
    expect(received).toHaveLength(3);
    expect(secretsRead).toHaveLength(2);
  });

  test("is not kept: each further question reads the key and asks once", async () => {
    const { client, secretsRead } = aClient();
    otherwise = { status: 401 };
    for (const _ of [1, 2, 3]) await client.transaction(APP, TRANSACTION);
    expect(received).toHaveLength(3);
    expect(secretsRead).toHaveLength(3);
  });

  test("made anew with a key that is known is replaced, too", async () => {
    const { client, secretsRead } = aClient();
    script = [A_TRANSACTION, { status: 401 }, A_TRANSACTION];
    await client.transaction(APP, TRANSACTION);
    const other = { ...APP, bundleIdentifier: "com.example.other" };
    expect(await client.transaction(other, TRANSACTION)).toMatchObject({ outcome: "answered" });
    expect([received.length, secretsRead.length]).toStrictEqual([3, 2]);
  });

  test("does not take away the one that has replaced it meanwhile", async () => {
    const late = Promise.withResolvers<Response>();
    const used: string[] = [];
    const answers: (() => Response | Promise<Response>)[] = [
      () => Response.json(A_TRANSACTION.body),
      () => late.promise,
      () => new Response(null, { status: 401 }),
    ];
    const { client, secretsRead } = aClient({
      fetch: async (_, options) => {
        used.push(new Headers(options?.headers).get("authorization") ?? "");
        return (answers.shift() ?? (() => Response.json(A_TRANSACTION.body)))();
      },
    });
    await client.transaction(APP, TRANSACTION);
    const [held, replaced] = [client.transaction(APP, TRANSACTION), client.transaction(APP, TRANSACTION)];
    await replaced;
    late.resolve(new Response(null, { status: 401 }));
    await held;
    const [first, second, third, fourth, fifth] = used;
    expect([second, third]).toStrictEqual([first, first]);
    expect(fourth).not.toBe(first);
    expect(fifth).toBe(fourth);
    expect(secretsRead).toHaveLength(2);
  });

  test("of an unknown app stays in use", async () => {
    const { client, secretsRead } = aClient();
    otherwise = apple(4040003);
    for (const _ of [1, 2]) await client.transaction(APP, TRANSACTION);
    expect([received.length, secretsRead.length]).toStrictEqual([2, 1]);
  });
});

describe("a key", () => {
  beforeEach(() => {
    otherwise = A_TRANSACTION;
  });

  test("is that of its own secret", async () => {
    const pairs = new Map([
      ["one", aKey()],
      ["other", aKey()],
    ]);
    const client = createAppStoreServer({
      rootUrl,
      readSecret: async (name) => pemOf(pairs.get(name)?.privateKey ?? KEY.privateKey),
      now: () => NOW,
      timing: TIMING,
    });
    for (const [secret, { publicKey }] of pairs) {
      await client.transaction({ ...APP, key: { ...APP.key, secret } }, TRANSACTION);
      const token = received.at(-1)?.authorization.replace("Bearer ", "") ?? "";
      expect(await jwtVerify(token, publicKey, { currentDate: new Date(NOW) })).toBeDefined();
    }
  });

  test("whose reading fails unexpectedly is a failure of the service", async () => {
    const failure = new TypeError("A defect.");
    const { client } = aClient({
      secret: () => {
        throw failure;
      },
    });
    await expect(client.transaction(APP, TRANSACTION)).rejects.toBe(failure);
  });

  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  test.each([
    ["empty text", ""],
    ["no PEM", KEY_LINES.join("")],
    ["JSON around the key", JSON.stringify({ key: pemOf(KEY.privateKey) })],
    ["half of the key", pemOf(KEY.privateKey).slice(0, 100)],
    ["a public key", KEY.publicKey.export({ type: "spki", format: "pem" }).toString()],
    ["a key of another curve", pemOf(aKey("P-384").privateKey)],
    ["an RSA key", pemOf(rsa.privateKey)],
  ])("that is %s is credential-rejected, without a request, and not kept", async (_, text) => {
    const { client, secretsRead } = aClient({ secret: async () => text });
    for (const _ of [1, 2]) {
      const answer = await client.transaction(APP, TRANSACTION);
      expect(answer).toStrictEqual({
        outcome: "credential-rejected",
        status: null,
        reason: "secretIsNoPrivateKey",
      });
      expectNoSecrets(answer);
    }
    expect(received).toHaveLength(0);
    expect(secretsRead).toHaveLength(2);
  });

  test.each([
    ["a byte order mark and Windows line ends", `\uFEFF${pemOf(KEY.privateKey).replaceAll("\n", "\r\n")}`],
    ["no line end at its end", pemOf(KEY.privateKey).trim()],
    ["blank lines around it", `\n\n${pemOf(KEY.privateKey)}\n\n`],
  ])("with %s is used", async (_, text) => {
    const { client } = aClient({ secret: async () => text });
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "answered" });
  });

  test("that does not exist or may not be read is credential-rejected", async () => {
    const { client } = aClient({ secret: async () => null });
    expect(await client.transaction(APP, TRANSACTION)).toStrictEqual({
      outcome: "credential-rejected",
      status: null,
      reason: "secretIsUnreadable",
    });
    expect(received).toHaveLength(0);
  });

  const unreadable = { outcome: "unavailable", retryAt: null, status: null, reason: "credentialUnavailable" };

  test("that cannot be read is unavailable, and read by the next question", async () => {
    const secrets = [
      () => Promise.reject(new Error(`no ${APP.key.secret}`)),
      async () => pemOf(KEY.privateKey),
    ];
    const { client, secretsRead } = aClient({ secret: async () => secrets.shift()?.() ?? null });
    const answer = await client.transaction(APP, TRANSACTION);
    expect(answer).toStrictEqual(unreadable);
    expectNoSecrets(answer);
    expect(await client.transaction(APP, TRANSACTION)).toMatchObject({ outcome: "answered" });
    expect(secretsRead).toHaveLength(2);
  });

  test("that is not read in time is unavailable", async () => {
    const { client } = aClient({
      secret: () => Promise.withResolvers<null>().promise,
      timing: { ...HASTY, total: 200 },
    });
    expect(await client.transaction(APP, TRANSACTION)).toStrictEqual(unreadable);
    expect(received).toHaveLength(0);
  });
});
