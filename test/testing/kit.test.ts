import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { apiGatewayEvent, startKit, type Kit, type TestApplication } from "../../testing/index.ts";
import { functionsOf, handlerOf } from "../../testing/calling.ts";

const START = "2026-06-15T12:00:00.000Z";
const RealDate = Date;

let kit: Kit;
let app: TestApplication;
beforeAll(async () => {
  kit = await startKit({ at: START });
});
beforeEach(async () => {
  app = await kit.application();
});
afterEach(() => kit.notify(false));
afterAll(() => kit.stop());

const read = async (account = "user-1", key = app.key) =>
  kit.call("readAccountEntitlements", { key, path: { applicationAccountIdentifier: account } });

const link = async (purchase: object, account = "user-1") =>
  kit.call("linkIosStoreCustomer", {
    key: app.key,
    body: { ...purchase, applicationAccountIdentifier: account },
  });

const linkAndroid = async (purchaseToken: string, { key, packageName } = app, productKind = "subscription") =>
  kit.call("linkAndroidStoreCustomer", {
    key,
    body: { packageName, purchaseToken, productKind, applicationAccountIdentifier: "user-1" },
  });

test("a signed purchase is synchronized, linked and read", async () => {
  const purchase = await app.buyOnIos({ productIdentifier: "monthly" });
  const synchronized = await kit.call("synchronizeIosStorePurchases", { body: purchase });
  expect(synchronized).toMatchObject({ status: 200, body: { entitlements: [{ active: true }] } });
  expect((await link(purchase)).status).toBe(200);
  expect(await read()).toMatchObject({
    status: 200,
    body: {
      applicationIdentifier: app.identifier,
      customerIdentifiers: [synchronized.body.customerIdentifier],
      entitlements: [{ identifier: "premium", status: "active", startsAt: START }],
    },
  });
});

test("the clock stands still, and moves when the test moves it", async () => {
  await link(await app.buyOnIos({ productIdentifier: "day_pass", type: "Non-Renewing Subscription" }));
  const before = kit.clock.now();
  expect([Date.now(), new Date().getTime()]).toEqual([before, before]);
  const endsAt = Date.parse((await read()).body.entitlements?.[0]?.expiresAt ?? "");
  await kit.clock.moveTo(endsAt - 1);
  expect((await read()).body.entitlements).toMatchObject([{ active: true }]);
  await kit.clock.moveTo(endsAt);
  expect((await read()).body.entitlements).toMatchObject([{ active: false, status: "expired" }]);
  expect(kit.clock.now()).toBe(endsAt);
  await kit.clock.advance("PT1M");
  expect(new Date().toISOString()).toBe(new Date(endsAt + 60_000).toISOString());
  await expect(kit.clock.moveTo(endsAt)).rejects.toThrow("only forwards");
  await expect(kit.clock.advance("1 month")).rejects.toThrow("not a duration");
});

test("a second call at one moment comes a millisecond later", async () => {
  await kit.clock.advance("P1D");
  const moved = kit.clock.now();
  await read();
  expect(kit.clock.now()).toBe(moved);
  await read();
  expect(kit.clock.now()).toBe(moved + 1);
});

test("stores notify when the test says so, through the endpoints' handlers", async () => {
  kit.notify(true);
  const purchase = await app.buyOnIos({ productIdentifier: "monthly", period: "P1M" });
  const token = app.buyOnAndroid();
  await link(purchase);
  await linkAndroid(token);
  await kit.clock.advance("P2M");
  expect((await read()).body.entitlements).toMatchObject([{ status: "active" }]);
  await kit.ios.change(purchase.originalTransactionIdentifiers[0] ?? "", { change: "refund" });
  kit.android.change(token, { change: "refund" });
  await kit.android.pushed();
  expect((await read()).body.entitlements).toMatchObject([{ active: false }]);
});

test("a schedule runs by its name: a lost renewal is asked for", async () => {
  const token = app.buyOnAndroid({ period: "P1M" });
  await linkAndroid(token);
  await kit.clock.advance("P1M");
  await kit.clock.advance("PT1H");
  expect((await read()).body.entitlements).toMatchObject([{ active: false }]);
  expect(await kit.run("refresh-android-store-purchases")).toMatchObject({ paused: [] });
  expect((await read()).body.entitlements).toMatchObject([{ active: true }]);
});

test.each<[what: string, key: () => Promise<string | undefined>, status: number]>([
  ["no key", async () => undefined, 401],
  ["a wrong key", async () => "cek_1", 401],
  ["a missing scope", () => app.issueKey(["customers:write"]), 403],
  ["the scope", () => app.issueKey(["entitlements:read"]), 200],
  ["a key that has ended", () => app.issueKey(["entitlements:read"], kit.clock.now()), 401],
])("the gateway answers %s", async (_, keyOf, status) => {
  const key = await keyOf();
  const path = { applicationAccountIdentifier: "user-1" };
  const answered = await kit.call("readAccountEntitlements", { path, ...(key !== undefined && { key }) });
  expect(answered.status).toBe(status);
});

test("a payload of one's own is signed as the App Store signs", async () => {
  const signedTransactions = [kit.sign({ bundleId: app.bundleIdentifier })];
  const { status, body } = await link({ ...(await app.buyOnIos()), signedTransactions });
  expect([status, body.error]).toEqual([400, "INVALID_TRANSACTION"]);
});

test("the README's manifest works with the sandbox's credentials", async () => {
  const text = readFileSync("README.md", "utf8");
  const [, manifest = ""] = /^```yaml\n([^]*?)^```$/m.exec(text) ?? [];
  const trails = await kit.application(manifest);
  expect([trails.bundleIdentifier, trails.packageName]).toEqual(["com.example.trails", "com.example.trails"]);
  const { body } = await linkAndroid(trails.buyOnAndroid(), trails);
  expect(body.entitlements).toMatchObject([{ identifier: "premium", active: true }]);
});

test("a manifest that is not valid says each problem", async () => {
  await expect(kit.application("application: { name: 7 }")).rejects.toThrow("application.name");
  await expect(kit.application("trails.yaml")).rejects.toThrow("trails.yaml is the name of a file");
});

const manifestOf = (name: string) => ({
  application: { name },
  stores: { "android-store": [{ packageName: name, credential: { secret: "any" } }] },
  entitlements: { captain: {} },
  products: [{ store: "android-store", productIdentifier: "tides", grants: ["captain"] }],
});

test("a manifest is applied once, or says which application it is", async () => {
  const manifest = manifestOf("com.example.once");
  await kit.application(manifest);
  await expect(kit.application(manifest)).rejects.toThrow("is applied once, such as in beforeAll");
  const application = { identifier: randomUUID(), name: "Again" };
  const identified = { ...manifestOf("com.example.again"), application };
  await kit.application(identified);
  await expect(kit.application(identified)).resolves.toMatchObject({ packageName: "com.example.again" });
});

test("a purchase names its product where the default is not sold", async () => {
  const tides = await kit.application(manifestOf("com.example.tides"));
  expect(() => tides.buyOnAndroid()).toThrow(
    'The application sells no "premium": give buyOnAndroid a productIdentifier, such as tides.',
  );
  const purchaseToken = tides.buyOnAndroid({ productIdentifier: "tides", productKind: "one_time_product" });
  const { body } = await linkAndroid(purchaseToken, tides, "one_time_product");
  expect(body.entitlements).toMatchObject([{ identifier: "captain", active: true }]);
});

test("an unknown change and an unknown endpoint are named", async () => {
  const token = app.buyOnAndroid();
  const { originalTransactionIdentifiers } = await app.buyOnIos({ productIdentifier: "monthly" });
  // @ts-expect-error -- a test whose types nobody checks
  expect(() => kit.android.change(token, "cancel")).toThrow("expected object, received string");
  // @ts-expect-error -- likewise
  expect(() => kit.android.change(token, { change: "explode" })).toThrow("Invalid option");
  // @ts-expect-error -- likewise
  await expect(kit.ios.change(originalTransactionIdentifiers[0], "cancel")).rejects.toThrow(
    "expected object",
  );
  const unknown = "There is no endpoint readEntitlements; there are: ";
  // @ts-expect-error -- likewise
  await expect(kit.call("readEntitlements")).rejects.toThrow(unknown);
});

test("a changed catalog is seen a minute later", async () => {
  const { bundleIdentifier } = app;
  await link(await app.buyOnIos({ productIdentifier: "monthly" }));
  await app.apply({
    application: { name: bundleIdentifier },
    stores: { "ios-store": [{ bundleIdentifier, appAppleIdentifier: 1 }] },
    entitlements: { premium: {}, extra: {} },
    products: [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium", "extra"] }],
  });
  await kit.clock.advance("PT1M");
  expect((await read()).body.entitlements?.map(({ identifier }) => identifier)).toEqual(["extra", "premium"]);
});

test("a second start gives the same kit", async () => {
  expect(await startKit()).toBe(kit);
});

describe("an event", () => {
  const account = { path: { applicationAccountIdentifier: "a/b c" } };

  test("is the local gateway's, with the path parameters encoded once", () => {
    const request = { ...account, query: { limit: "3" }, headers: { "X-Mine": "1" } };
    const caller = { applicationIdentifier: app.identifier };
    expect(apiGatewayEvent("readAccountEntitlements", request, caller)).toMatchObject({
      httpMethod: "GET",
      path: "/v1/customers/a%2Fb%20c/entitlements",
      resource: "/v1/customers/{applicationAccountIdentifier}/entitlements",
      pathParameters: { applicationAccountIdentifier: "a%2Fb%20c" },
      queryStringParameters: { limit: "3" },
      multiValueQueryStringParameters: { limit: ["3"] },
      headers: { "X-Mine": "1", Host: "localhost" },
      body: null,
      isBase64Encoded: false,
      requestContext: { authorizer: caller },
    });
    expect(() => apiGatewayEvent("readAccountEntitlements")).toThrow("applicationAccountIdentifier");
  });

  test.each([
    [{ a: 1 }, '{"a":1}', false],
    [Buffer.from("{}"), "e30=", true],
    [undefined, null, false],
  ])("with the body %j has %j", (body, text, isBase64Encoded) => {
    const event = apiGatewayEvent("synchronizeIosStorePurchases", { body });
    expect(event).toMatchObject({ body: text, isBase64Encoded });
  });

  test("takes fields that are to be otherwise, for a handler alone", async () => {
    const changes = { pathParameters: { applicationAccountIdentifier: "%" } };
    const caller = { applicationIdentifier: app.identifier };
    const event = apiGatewayEvent("readAccountEntitlements", account, caller, changes);
    const result = await kit.invoke("readAccountEntitlements", event);
    expect([result.statusCode, JSON.parse(result.body).error]).toEqual([400, "INVALID_REQUEST"]);
  });
});

test("every function of the service can be called by its name", async () => {
  for (const kind of ["endpoint", "schedule"] as const) {
    const names = functionsOf(kind);
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) expect(typeof (await handlerOf(kind, name))).toBe("function");
  }
  await expect(kit.run("refresh")).rejects.toThrow("there are: deliver-messages");
});

test("the last test's stop gives Date and the environment back", async () => {
  expect(Date).not.toBe(RealDate);
  expect(process.env["TABLE_NAME"]).toBe(kit.table.name);
  const store = process.env["ANDROID_PUBLISHER_URL"] ?? "";
  expect((await fetch(`${store}/certs`)).status).toBe(200);
  await kit.stop();
  expect(Date).toBe(RealDate);
  expect(process.env["TABLE_NAME"]).toBeUndefined();
  await expect(fetch(`${store}/certs`)).rejects.toThrow("fetch failed");
});
