import { createEntitlementsClient, EntitlementsError } from "../../client/source/index.ts";
import {
  aClock,
  anAnswer,
  anEntitlement,
  aRefusal,
  startStubService,
  type StubAnswer,
  type StubService,
} from "./stub-service.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const KEY = "cek_0000000000000000_secret";

let service: StubService;
let clock: ReturnType<typeof aClock>;
beforeAll(async () => {
  service = await startStubService();
});
beforeEach(() => {
  clock = aClock(NOW);
  service.requests.length = 0;
});
afterAll(() => service.stop());

const aClient = (options: Partial<Parameters<typeof createEntitlementsClient>[0]> = {}) =>
  createEntitlementsClient({ baseUrl: service.address, apiKey: KEY, clock, ...options });

const failureOf = async (promise: Promise<unknown>): Promise<EntitlementsError> => {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof EntitlementsError) return error;
  throw new Error("It did not fail as expected.", { cause: error });
};

test("a read sends the key and the account encoded once", async () => {
  service.answer(anAnswer(anEntitlement()));
  const answer = await aClient({ baseUrl: `${service.address}/` }).readAccountEntitlements("a/b %ü");
  expect(answer.entitlements).toEqual([anEntitlement()]);
  expect(service.requests).toEqual([
    {
      method: "GET",
      url: "/v1/customers/a%2Fb%20%25%C3%BC/entitlements",
      authorization: `Bearer ${KEY}`,
      body: "",
    },
  ]);
});

test.each([
  ["active", true],
  ["grace_period", true],
  ["expired", false],
  ["billing_retry", false],
] as const)("an account has an entitlement that is %s: %s", async (status, active) => {
  service.answer(anAnswer(anEntitlement({ status, active }), anEntitlement({ identifier: "other" })));
  expect(await aClient().hasEntitlement("user-1", "premium")).toBe(active);
  expect(await aClient().hasEntitlement("user-1", "gold")).toBe(false);
});

test("the key can be changed while the client runs", async () => {
  service.answer(anAnswer());
  let key = "first";
  const client = aClient({ apiKey: () => Promise.resolve(key) });
  await client.readAccountEntitlements("a");
  key = "second";
  await client.readAccountEntitlements("a");
  expect(service.requests.map(({ authorization }) => authorization)).toEqual([
    "Bearer first",
    "Bearer second",
  ]);
});

describe("Retry-After is honoured", () => {
  test.each([
    ["seconds", { "Retry-After": "7" }, 7_000],
    ["a date", { "Retry-After": new Date(NOW + 9_000).toUTCString() }, 9_000],
    ["a date that has passed", { "Retry-After": new Date(NOW - 9_000).toUTCString() }, 0],
  ])("%s", async (_, headers, wait) => {
    for (const [status, code] of [
      [429, "TOO_MANY_REQUESTS"],
      [503, "STORE_UNAVAILABLE"],
    ] as const) {
      clock = aClock(NOW);
      service.answer(aRefusal(status, code, headers), anAnswer());
      await aClient().readAccountEntitlements("a");
      expect(clock.waits).toEqual([wait]);
    }
  });
  test("beyond the caller's patience, the error says when to come again", async () => {
    service.answer(aRefusal(503, "STORE_UNAVAILABLE", { "Retry-After": "60" }));
    const error = await failureOf(aClient().readAccountEntitlements("a"));
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      status: 503,
      retryAfter: 60_000,
      isTemporary: true,
    });
    expect([clock.waits, service.requests.length]).toEqual([[], 1]);
  });
});

test.each<[string, StubAnswer]>([
  ["a 500", aRefusal(500, "INTERNAL_ERROR")],
  ["a 504 of the gateway", aRefusal(504, "INTERNAL_ERROR")],
  [
    "a page of something in between",
    { status: 502, body: "<html>", headers: { "Content-Type": "text/html" } },
  ],
  ["a connection that is closed", (_, response) => void response.destroy()],
  [
    "a body that breaks off",
    (_, response) => {
      response.writeHead(200, { "Content-Length": "1000" });
      response.write("{");
      setImmediate(() => response.destroy());
    },
  ],
])("%s is tried again, each time later", async (_, failure) => {
  service.answer(failure, failure, anAnswer());
  expect((await aClient().readAccountEntitlements("a")).entitlements).toEqual([]);
  const [first = 0, second = 0] = clock.waits;
  expect(first).toBeGreaterThanOrEqual(100);
  expect(first).toBeLessThanOrEqual(200);
  expect(second).toBeGreaterThanOrEqual(200);
  expect(second).toBeLessThanOrEqual(400);
});

test("at most four attempts are made", async () => {
  service.answer(aRefusal(500, "INTERNAL_ERROR"));
  const error = await failureOf(aClient().readAccountEntitlements("a"));
  expect([error.code, error.isTemporary, service.requests.length]).toEqual(["INTERNAL_ERROR", true, 4]);
});

test("no answer in time is UNREACHABLE, and is tried again", async () => {
  service.answer(() => undefined, anAnswer());
  expect(await aClient({ timeout: 100 }).hasEntitlement("a", "premium")).toBe(false);
  expect(service.requests).toHaveLength(2);
});

test("no connection is UNREACHABLE", async () => {
  const error = await failureOf(aClient({ baseUrl: "http://127.0.0.1:9" }).readAccountEntitlements("a"));
  expect(error).toMatchObject({ code: "UNREACHABLE", status: null, isTemporary: true });
});

test.each([
  [400, "INVALID_PURCHASE"],
  [401, "INVALID_CREDENTIAL"],
  [403, "INSUFFICIENT_SCOPE"],
  [404, "APPLICATION_NOT_FOUND"],
  [409, "CUSTOMER_ALREADY_LINKED"],
  [503, "STORE_REJECTED_CREDENTIAL"],
])("%d %s is not tried again", async (status, code) => {
  service.answer(aRefusal(status, code));
  const error = await failureOf(aClient().readAccountEntitlements("a"));
  expect(error).toMatchObject({ code, status, isTemporary: false, message: "A sentence." });
  expect(service.requests).toHaveLength(1);
});

test("the fields of an invalid request are named", async () => {
  const issues = [{ path: "purchaseToken", message: "must not be empty" }];
  service.answer({ status: 400, body: { error: "INVALID_REQUEST", message: "…", issues } });
  expect((await failureOf(aClient().readAccountEntitlements("a"))).issues).toEqual(issues);
});

test.each([
  ["another page", { status: 200, body: "<html>" }],
  ["JSON of something else", { status: 200, body: { status: "ok" } }],
  ["a redirect's target", { status: 404, body: "Not Found" }],
])("%s with a success's or another status is UNEXPECTED_ANSWER", async (_, answer) => {
  service.answer(answer);
  expect(await failureOf(aClient().readAccountEntitlements("a"))).toMatchObject({
    code: "UNEXPECTED_ANSWER",
    isTemporary: false,
  });
});

test("a redirect is not followed: the key goes to one address alone", async () => {
  service.answer({ status: 302, headers: { Location: `${service.address}/elsewhere` } });
  expect((await failureOf(aClient().readAccountEntitlements("a"))).code).toBe("UNREACHABLE");
  expect(service.requests.map(({ url }) => url)).not.toContain("/elsewhere");
});

test.each(["", ".", ".."])("the account %j, which no URL can name, is refused here", async (account) => {
  expect((await failureOf(aClient().readAccountEntitlements(account))).code).toBe("INVALID_REQUEST");
  expect(service.requests).toEqual([]);
});

test.each([
  "http://api.example.com",
  "http://[2001:db8::1]",
  "http://[::ffff:c633:6407]:3000",
  "ftp://api.example.com",
  "https://user:password@api.example.com",
  "https://api.example.com?x=1",
  "api.example.com",
  "",
])("no key is sent to %j", (baseUrl) => {
  expect(() => aClient({ baseUrl })).toThrow("baseUrl must");
});

test.each(["http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost:3000", "http://gateway"])(
  "a key may be sent in clear to %j, which is this machine or one beside it",
  (baseUrl) => {
    expect(() => aClient({ baseUrl })).not.toThrow();
  },
);

test("a caller's signal ends the call with its reason, the waits too", async () => {
  const gone = new Error("gone");
  service.answer(() => undefined);
  const controller = new AbortController();
  const call = aClient().readAccountEntitlements("a", { signal: controller.signal });
  controller.abort(gone);
  await expect(call).rejects.toBe(gone);
  await expect(
    aClient({ cache: {} }).readAccountEntitlements("a", { signal: AbortSignal.abort(gone) }),
  ).rejects.toBe(gone);
});

test("no error shows the key", async () => {
  service.answer(aRefusal(401, "INVALID_CREDENTIAL"));
  const refused = await failureOf(aClient().readAccountEntitlements("a"));
  const unreachable = await failureOf(
    aClient({ baseUrl: "http://127.0.0.1:9" }).readAccountEntitlements("a"),
  );
  for (const error of [refused, unreachable])
    expect([String(error), JSON.stringify(error), error.stack, String(error.cause)].join()).not.toContain(
      "secret",
    );
});

describe("an iOS link", () => {
  const linked = {
    status: 200,
    body: { customerIdentifier: null, applicationIdentifier: "a", entitlements: [] },
  };
  const bodies = () => service.requests.map(({ body }) => JSON.parse(body));
  const request = { signedAppTransaction: "app", applicationAccountIdentifier: "user-1" };

  test("of a few transactions is one request", async () => {
    service.answer(linked);
    const whole = { ...request, signedTransactions: ["a", "b"], signedRenewalInfos: ["r"] };
    await aClient().linkIosStoreCustomer(whole);
    expect(bodies()).toEqual([whole]);
  });
  test("of 1,234 transactions is several requests, each within the limits", async () => {
    service.answer(linked);
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    const signedTransactions = names("t", 1234);
    const signedRenewalInfos = names("r", 250);
    await aClient().linkIosStoreCustomer({ ...request, signedTransactions, signedRenewalInfos });
    const sent = bodies();
    expect(sent.flatMap((body) => body.signedTransactions ?? [])).toEqual(signedTransactions);
    expect(sent.flatMap((body) => body.signedRenewalInfos ?? [])).toEqual(signedRenewalInfos);
    for (const body of sent) {
      expect(body).toMatchObject(request);
      expect((body.signedTransactions ?? []).length).toBeLessThanOrEqual(500);
      expect((body.signedRenewalInfos ?? []).length).toBeLessThanOrEqual(100);
    }
    // A renewal info of a purchase that is not known yet would be ignored.
    const firstInfos = sent.findIndex((body) => (body.signedRenewalInfos ?? []).length > 0);
    const lastTransactions = sent.findLastIndex((body) => (body.signedTransactions ?? []).length > 0);
    expect(firstInfos).toBeGreaterThanOrEqual(lastTransactions);
  });

  describe("that is refused", () => {
    const large = {
      ...request,
      signedTransactions: Array.from({ length: 1001 }, (_, index) => `t${index}`),
      signedRenewalInfos: ["r"],
    };
    const shown = () =>
      service.requests.map(({ url, body }) => {
        const {
          applicationAccountIdentifier: account = null,
          signedTransactions,
          signedRenewalInfos,
        } = JSON.parse(body);
        return [url.split("/").at(-1), account, signedTransactions.length, signedRenewalInfos?.length ?? 0];
      });

    test.each(["CUSTOMER_ALREADY_LINKED", "IDENTITY_CONFLICT"])(
      "with %s sends the rest without the account, then rejects",
      async (code) => {
        service.answer(aRefusal(409, code), aRefusal(409, "IDENTITY_CONFLICT"), linked);
        expect(await failureOf(aClient().linkIosStoreCustomer(large))).toMatchObject({ code, status: 409 });
        expect(shown()).toEqual([
          ["link", "user-1", 500, 0],
          ["synchronize", null, 500, 0],
          ["synchronize", null, 1, 1],
        ]);
      },
    );
    test("rejects, also if a part before was linked", async () => {
      service.answer(linked, aRefusal(409, "CUSTOMER_ALREADY_LINKED"), linked);
      expect((await failureOf(aClient().linkIosStoreCustomer(large))).code).toBe("CUSTOMER_ALREADY_LINKED");
      expect(shown().map(([route]) => route)).toEqual(["link", "link", "synchronize"]);
    });
    test("sends the rest past what cannot succeed, and rejects with the refusal", async () => {
      service.answer(
        aRefusal(409, "CUSTOMER_ALREADY_LINKED"),
        aRefusal(404, "CUSTOMER_NOT_FOUND"),
        aRefusal(400, "INVALID_TRANSACTION"),
      );
      expect((await failureOf(aClient().linkIosStoreCustomer(large))).code).toBe("CUSTOMER_ALREADY_LINKED");
      expect(shown().map(([route]) => route)).toEqual(["link", "synchronize", "synchronize"]);
    });
    test.each([
      [400, "INVALID_TRANSACTION", 1],
      [401, "INVALID_CREDENTIAL", 1],
      [500, "INTERNAL_ERROR", 4],
    ])("with %d %s ends there", async (status, code, requests) => {
      service.answer(aRefusal(status, code));
      expect((await failureOf(aClient().linkIosStoreCustomer(large))).code).toBe(code);
      expect(service.requests).toHaveLength(requests);
    });
    test.each<[string, StubAnswer, number]>([
      ["TOO_MANY_REQUESTS", aRefusal(429, "TOO_MANY_REQUESTS", { "Retry-After": "300" }), 2],
      ["INTERNAL_ERROR", aRefusal(503, "INTERNAL_ERROR"), 5],
      ["UNREACHABLE", (_, response) => void response.destroy(), 5],
    ])("rejects with %s, which is temporary, and stops there", async (code, failure, requests) => {
      service.answer(aRefusal(409, "CUSTOMER_ALREADY_LINKED"), failure);
      expect(await failureOf(aClient().linkIosStoreCustomer(large))).toMatchObject({
        code,
        isTemporary: true,
      });
      expect(service.requests).toHaveLength(requests);
    });
    test("ends with a caller's signal", async () => {
      const gone = new Error("gone");
      const controller = new AbortController();
      service.answer(aRefusal(409, "CUSTOMER_ALREADY_LINKED"), () => controller.abort(gone));
      await expect(aClient().linkIosStoreCustomer(large, { signal: controller.signal })).rejects.toBe(gone);
    });
  });
});

describe("the feed of changes", () => {
  const aChange = (cursor: string) => ({
    applicationIdentifier: "a",
    applicationAccountIdentifier: "user-1",
    version: 1,
    changed: [],
    customerIdentifiers: [],
    entitlements: [],
    timestamp: "2026-06-15T12:00:00.000Z",
    cursor,
  });
  const aPage = (next: string | null, ...cursors: string[]) => ({
    status: 200,
    body: { changes: cursors.map(aChange), next },
  });

  test("is read from a cursor on", async () => {
    service.answer(aPage("c2", "c1", "c2"));
    const page = await aClient().readChanges({ after: "c/0", limit: 2 });
    expect([page.changes.map(({ cursor }) => cursor), page.next]).toEqual([["c1", "c2"], "c2"]);
    expect(service.requests[0]?.url).toBe("/v1/changes?after=c%2F0&limit=2");
  });
  test("is followed page by page, and polled when nothing is new", async () => {
    service.answer(aPage("c2", "c1", "c2"), aPage("c2"), aPage("c3", "c3"));
    const seen: string[] = [];
    for await (const { cursor } of aClient().followChanges({ interval: 4_000 })) {
      seen.push(cursor);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(["c1", "c2", "c3"]);
    expect(clock.waits).toEqual([4_000]);
    expect(service.requests.map(({ url }) => url)).toEqual([
      "/v1/changes",
      "/v1/changes?after=c2",
      "/v1/changes?after=c2",
    ]);
  });
  test("ends with the caller's signal", async () => {
    service.answer(aPage("c2", "c1", "c2"));
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const { cursor } of aClient().followChanges({ signal: controller.signal })) {
      seen.push(cursor);
      controller.abort();
    }
    expect(seen).toEqual(["c1"]);
  });
  test("rejects with CURSOR_EXPIRED", async () => {
    service.answer(aRefusal(400, "CURSOR_EXPIRED"));
    const error = await failureOf(aClient().followChanges({ after: "old" }).next());
    expect(error.code).toBe("CURSOR_EXPIRED");
  });
});
