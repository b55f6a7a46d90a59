import {
  anAnswer,
  anEntitlement,
  aRefusal,
  failureOf,
  KEY,
  NOW,
  withStub,
  type StubAnswer,
} from "./stub-service.ts";

const given = withStub();
const { aClient } = given;
const read = async (account = "a") => aClient().readAccountEntitlements(account);
/** How a read fails when the service answers so. */
const failureWhen = async (answer: StubAnswer) => {
  given.service.answer(answer);
  return failureOf(read());
};

test("a read sends the key and the account encoded once", async () => {
  given.service.answer(anAnswer(anEntitlement()));
  const answer = await aClient({ baseUrl: `${given.service.address}/` }).readAccountEntitlements("a/b %ü");
  expect(answer.entitlements).toEqual([anEntitlement()]);
  const url = "/v1/customers/a%2Fb%20%25%C3%BC/entitlements";
  expect(given.service.requests).toEqual([{ method: "GET", url, authorization: `Bearer ${KEY}`, body: "" }]);
});

test.each([true, false])("an account has an entitlement that is active: %s", async (active) => {
  given.service.answer(anAnswer(anEntitlement({ active }), anEntitlement({ identifier: "other" })));
  expect(await aClient().hasEntitlement("user-1", "premium")).toBe(active);
  expect(await aClient().hasEntitlement("user-1", "gold")).toBe(false);
});

test("the key can be changed while the client runs", async () => {
  given.service.answer(anAnswer());
  const keys = ["first", "second"];
  const client = aClient({ apiKey: async () => keys.shift() ?? "" });
  await client.readAccountEntitlements("a");
  await client.readAccountEntitlements("a");
  const sent = given.service.requests.map(({ authorization }) => authorization);
  expect(sent).toEqual(["Bearer first", "Bearer second"]);
});

test.each([
  ["seconds", 429, "TOO_MANY_REQUESTS", "7", 7_000],
  ["a date", 503, "STORE_UNAVAILABLE", new Date(NOW + 9_000).toUTCString(), 9_000],
  ["a date that has passed", 503, "STORE_UNAVAILABLE", new Date(NOW - 9_000).toUTCString(), 0],
])("Retry-After is honoured: %s", async (_, status, code, retryAfter, wait) => {
  given.service.answer(aRefusal(status, code, { "Retry-After": retryAfter }), anAnswer());
  await read();
  expect(given.clock.waits).toEqual([wait]);
});

test("beyond the caller's patience, the error says when to come again", async () => {
  const error = await failureWhen(aRefusal(503, "STORE_UNAVAILABLE", { "Retry-After": "60" }));
  const patience = { status: 503, retryAfter: 60_000, isTemporary: true };
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", ...patience });
  expect([given.clock.waits, given.service.requests.length]).toEqual([[], 1]);
});

test.each<[string, StubAnswer]>([
  ["a 500", aRefusal(500, "INTERNAL_ERROR")],
  ["a page between", { status: 502, body: "<html>", headers: { "Content-Type": "text/html" } }],
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
  given.service.answer(failure, failure, anAnswer());
  expect((await read()).entitlements).toEqual([]);
  const [first = 0, second = 0] = given.clock.waits;
  expect(first).toBeGreaterThanOrEqual(100);
  expect(first).toBeLessThanOrEqual(200);
  expect(second).toBeGreaterThanOrEqual(200);
  expect(second).toBeLessThanOrEqual(400);
});

test("at most four attempts are made", async () => {
  const error = await failureWhen(aRefusal(500, "INTERNAL_ERROR"));
  expect(error).toMatchObject({ code: "INTERNAL_ERROR", isTemporary: true });
  expect(given.service.requests).toHaveLength(4);
});

test("no answer in time is UNREACHABLE, and is tried again", async () => {
  given.service.answer(() => undefined, anAnswer());
  expect(await aClient({ timeout: 100 }).hasEntitlement("a", "premium")).toBe(false);
  expect(given.service.requests).toHaveLength(2);
});

test.each([
  [400, "INVALID_PURCHASE"],
  [401, "INVALID_CREDENTIAL"],
  [409, "CUSTOMER_ALREADY_LINKED"],
  [503, "STORE_REJECTED_CREDENTIAL"],
])("%d %s is not tried again", async (status, code) => {
  const error = await failureWhen(aRefusal(status, code));
  expect(error).toMatchObject({ code, status, isTemporary: false, message: "A sentence." });
  expect(given.service.requests).toHaveLength(1);
});

test("the fields of an invalid request are named", async () => {
  const issues = [{ path: "purchaseToken", message: "must not be empty" }];
  const body = { error: "INVALID_REQUEST", message: "…", issues };
  expect(await failureWhen({ status: 400, body })).toMatchObject({ issues });
});

test.each([
  ["another page", { status: 200, body: "<html>" }],
  ["JSON of something else", { status: 200, body: { status: "ok" } }],
  ["another status without a code", { status: 404, body: "Not Found" }],
])("%s is UNEXPECTED_ANSWER", async (_, answer) => {
  expect(await failureWhen(answer)).toMatchObject({ code: "UNEXPECTED_ANSWER", isTemporary: false });
});

test("a redirect is not followed: the key goes to one address alone", async () => {
  const redirect = { status: 302, headers: { Location: `${given.service.address}/elsewhere` } };
  expect(await failureWhen(redirect)).toMatchObject({ code: "UNREACHABLE" });
  expect(given.service.requests.map(({ url }) => url)).not.toContain("/elsewhere");
});

test.each(["", ".", ".."])("the account %j, which no URL can name, is refused here", async (account) => {
  expect(await failureOf(read(account))).toMatchObject({ code: "INVALID_REQUEST" });
  expect(given.service.requests).toEqual([]);
});

test.each([
  "http://api.example.com",
  "http://[2001:db8::1]",
  "ftp://api.example.com",
  "https://user:password@api.example.com",
  "https://api.example.com?x=1",
  "",
])("no key is sent to %j", (baseUrl) => {
  expect(() => aClient({ baseUrl })).toThrow("baseUrl must");
});

const NEAR = ["http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost:3000", "http://gateway"];
test.each(NEAR)("a key may be sent in clear to %j, which is this machine or one beside it", (baseUrl) => {
  expect(() => aClient({ baseUrl })).not.toThrow();
});

test("a caller's signal ends the call with its reason", async () => {
  const gone = new Error("gone");
  given.service.answer(() => undefined);
  const controller = new AbortController();
  const call = aClient().readAccountEntitlements("a", { signal: controller.signal });
  controller.abort(gone);
  await expect(call).rejects.toBe(gone);
  const cached = aClient({ cache: {} }).readAccountEntitlements("a", { signal: AbortSignal.abort(gone) });
  await expect(cached).rejects.toBe(gone);
});

test("a service that cannot be reached is UNREACHABLE; no error shows the key", async () => {
  const refused = await failureWhen(aRefusal(401, "INVALID_CREDENTIAL"));
  const nowhere = aClient({ baseUrl: "http://127.0.0.1:9" });
  const unreachable = await failureOf(nowhere.readAccountEntitlements("a"));
  expect(unreachable).toMatchObject({ code: "UNREACHABLE", status: null, isTemporary: true });
  for (const error of [refused, unreachable]) {
    const shown = [String(error), JSON.stringify(error), error.stack, String(error.cause)].join();
    expect(shown).not.toContain("secret");
  }
});
