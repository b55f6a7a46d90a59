import { gzipSync } from "node:zlib";
import { fingerprintOf, makeChain, makeXcodeSigner, signJws } from "../../sandbox/ios-store/signing.ts";
import { appTransactionPayload, transactionPayload } from "../../sandbox/ios-store/shop/app-store.ts";
import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import { PRODUCTS, startTestService, type Answer, type TestService } from "../../testing/support/service.ts";

const DAY = 86_400_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
}, 60_000);
afterAll(() => service.stop());

const outcome = ({ status, body }: Answer): [number, string | undefined] => [status, body.error];
const statuses = ({ body }: Answer): [string, CustomerEntitlement["status"]][] =>
  (body.entitlements ?? []).map(({ identifier, status }) => [identifier, status]);
const tableText = async (): Promise<string> => JSON.stringify(await service.table.items());

describe("the main job", () => {
  test("an iOS purchase is synchronized, linked and read", async () => {
    const app = await service.application();
    const device = app.device();
    const request = device.request({ productIdentifier: "monthly" });

    const synchronized = await app.synchronize(request);
    expect(synchronized.status).toBe(200);
    expect(Object.keys(synchronized.body).sort()).toEqual(["customerIdentifier", "entitlements"]);
    expect(synchronized.body.customerIdentifier).toMatch(UUID);
    expect(statuses(synchronized)).toEqual([["premium", "active"]]);

    const linked = await app.link(request, "user-1");
    expect(linked.status).toBe(200);
    expect(linked.body).toEqual({ ...synchronized.body, applicationIdentifier: app.identifier });

    const read = await app.read("user-1");
    expect(read.status).toBe(200);
    expect(read.body).toEqual({
      applicationAccountIdentifier: "user-1",
      customerIdentifiers: [synchronized.body.customerIdentifier],
      applicationIdentifier: app.identifier,
      entitlements: synchronized.body.entitlements,
    });
    const [entitlement] = read.body.entitlements ?? [];
    expect(z.strictObject(customerEntitlement().shape).safeParse(entitlement).error).toBeUndefined();
  });

  test("an Android purchase is linked, acknowledged and read", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid();
    const linked = await app.linkAndroid(token, "user-1");
    expect(linked.status).toBe(200);
    expect(linked.body.applicationIdentifier).toBe(app.identifier);
    expect(linked.body.customerIdentifier).toMatch(UUID);
    expect(linked.body.entitlements).toMatchObject([
      {
        identifier: "premium",
        store: "android-store",
        status: "active",
        willRenew: true,
        environment: "production",
      },
    ]);
    expect(service.android.read(token)?.answer.acknowledgementState).toBe(
      "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    );
    expect((await app.read("user-1")).body.entitlements).toEqual(linked.body.entitlements);
    const items = (await service.table.items()).map((item) => JSON.stringify(item));
    const withToken = items.filter((item) => item.includes(token));
    expect(withToken).toEqual([expect.stringContaining("#ASK#android-store")]);
    expect(items.join()).not.toContain('"acknowledgement"');
  });

  test("an account shows its customers of both stores and the better grant", async () => {
    const app = await service.application();
    const ios = await app.link(app.device().request({ expiresDate: Date.now() + 90 * DAY }), "user-1");
    const android = await app.linkAndroid(app.buyOnAndroid(), "user-1");
    const { body } = await app.read("user-1");
    expect(body.customerIdentifiers).toEqual(
      [ios.body.customerIdentifier, android.body.customerIdentifier].sort(),
    );
    expect(body.entitlements).toMatchObject([
      { identifier: "premium", store: "ios-store", customerIdentifier: ios.body.customerIdentifier },
    ]);
  });

  test("an unknown account reads as empty, not as an error", async () => {
    const app = await service.application();
    expect((await app.read("nobody")).body).toEqual({
      applicationAccountIdentifier: "nobody",
      customerIdentifiers: [],
      applicationIdentifier: app.identifier,
      entitlements: [],
    });
  });

  test.each([
    "a/b",
    "100%",
    "a b",
    "😀",
    "#1",
    "android-store",
    "ios-store",
    "a%2Fb",
    "ü+=&?;:@",
    "x".repeat(256),
    "😀".repeat(256),
  ])("the account %j is linked and read unchanged", async (account) => {
    const app = await service.application();
    const linked = await app.link(app.device().request({}), account);
    const read = await app.read(account);
    expect(read.body.applicationAccountIdentifier).toBe(account);
    expect(read.body.customerIdentifiers).toEqual([linked.body.customerIdentifier]);
  });
});

describe("linking", () => {
  test("a known customer stays the same however often it is linked", async () => {
    const app = await service.application();
    const request = app.device().request({});
    const first = await app.link(request, "user-1");
    const before = await tableText();
    expect((await app.link(request, "user-1")).body).toEqual(first.body);
    expect((await app.synchronize(request, "user-1")).body.customerIdentifier).toBe(
      first.body.customerIdentifier,
    );
    expect(await tableText()).toBe(before);
  });

  test.each([".", ".."])(
    "the account %j, which no URL can name, is 400 on every endpoint",
    async (account) => {
      const app = await service.application();
      const request = app.device().request({});
      const before = await tableText();
      for (const answer of [
        await app.link(request, account),
        await app.synchronize(request, account),
        await app.linkAndroid(app.buyOnAndroid(), account),
      ]) {
        expect(outcome(answer)).toEqual([400, "INVALID_REQUEST"]);
        expect(answer.body.issues).toEqual([
          { path: "applicationAccountIdentifier", message: "must not be . or .." },
        ]);
      }
      expect(await tableText()).toBe(before);
      expect((await app.link(request, "...")).status).toBe(200);
    },
  );

  test("a second account is refused, and no link changes; known facts write nothing", async () => {
    const app = await service.application();
    const request = app.device().request({});
    await app.link(request, "user-1");
    const token = app.buyOnAndroid();
    await app.linkAndroid(token, "user-1");
    const before = await tableText();
    expect(outcome(await app.link(request, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect(outcome(await app.synchronize(request, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect(await tableText()).toBe(before);
    expect(outcome(await app.linkAndroid(token, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect((await app.read("user-2")).body.customerIdentifiers).toEqual([]);
    expect((await app.read("user-1")).body.customerIdentifiers).toHaveLength(2);
  });

  test("a refused link selects no products of a one-time purchase", async () => {
    const app = await service.application({
      products: ["vip", "maps"].map((productIdentifier) => ({
        store: "android-store",
        productIdentifier,
        grants: [productIdentifier === "vip" ? "premium" : "maps"],
      })),
    });
    const token = app.buyOnAndroid({
      productKind: "one_time_product",
      productIdentifier: "vip",
      basePlanIdentifier: undefined,
    });
    const stored = service.android.read(token);
    if (stored?.productKind !== "one_time_product") throw new Error("There is one.");
    const [line] = stored.answer.productLineItem ?? [];
    service.android.put(token, {
      ...stored,
      answer: { ...stored.answer, productLineItem: [{ ...line }, { ...line, productId: "maps" }] },
    });
    const oneTime = { productKind: "one_time_product" };
    await app.linkAndroid(token, "user-1", { ...oneTime, productIdentifier: "vip" });
    expect(outcome(await app.linkAndroid(token, "user-2", oneTime))).toEqual([
      409,
      "CUSTOMER_ALREADY_LINKED",
    ]);
    expect(statuses(await app.read("user-1"))).toEqual([["premium", "active"]]);
    expect(statuses(await app.linkAndroid(token, "user-1", oneTime))).toEqual([
      ["maps", "active"],
      ["premium", "active"],
    ]);
  });

  test("two customers that prove to be one person are merged and found through the alias", async () => {
    const app = await service.application();
    // An older client, whose payloads carry no app transaction id.
    const old = app.device({ appTransactionIdentifier: null });
    const purchaseDate = Date.now() - DAY;
    const bought = {
      transactionIdentifier: "9001",
      productIdentifier: "basic",
      purchaseDate,
      signedDate: purchaseDate,
    };
    const first = await app.synchronize(old.request(bought));
    const device = app.device();
    const second = await app.link(device.request({ productIdentifier: "monthly" }), "user-1");
    expect(second.body.customerIdentifier).not.toBe(first.body.customerIdentifier);

    const merged = await app.synchronize(device.request(bought));
    expect(merged.body.customerIdentifier).toBe(second.body.customerIdentifier);
    expect(statuses(merged)).toEqual([
      ["basics", "active"],
      ["premium", "active"],
    ]);
    expect((await app.synchronize(old.request({ ...bought, expiresDate: purchaseDate }))).body).toMatchObject(
      {
        customerIdentifier: second.body.customerIdentifier,
      },
    );
    const read = await app.read("user-1");
    expect(read.body.customerIdentifiers).toEqual([second.body.customerIdentifier]);
    expect(read.body.entitlements?.map(({ customerIdentifier }) => customerIdentifier)).toEqual([
      second.body.customerIdentifier,
      second.body.customerIdentifier,
    ]);
  });

  test("another's old copy, sent without a key, stays for its owner's backend to link", async () => {
    const app = await service.application();
    const bought = { transactionIdentifier: "9004", originalTransactionIdentifier: "9004" };
    const copy = app.device({ appTransactionIdentifier: null }).request(bought).signedTransactions;
    const stranger = app.device();
    await app.link(stranger.request({ productIdentifier: "basic" }), "stranger");

    const sent = await app.synchronize({ ...stranger.request(), signedTransactions: copy }, "stranger");
    expect(sent.status).toBe(200);
    const linked = await app.link({ ...app.device().request(), signedTransactions: copy }, "owner");
    expect(statuses(linked)).toEqual([["premium", "active"]]);
    expect(statuses(await app.read("stranger"))).toEqual([["basics", "active"]]);
  });

  test("an app account token names nobody, as the client chooses it", async () => {
    const app = await service.application();
    const bought = { appAccountToken: "7e3fb20b-4cdb-47cc-936d-99d65f608138" };
    const [first, second] = [
      await app.link(app.device().request(bought), "user-1"),
      await app.link(app.device().request(bought), "user-2"),
    ];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.customerIdentifier).not.toBe(first.body.customerIdentifier);
  });

  test("a lineage that names the one it replaced merges their customers, and the older lineage grants nothing", async () => {
    const app = await service.application();
    const now = Date.now();
    const older = { originalTransactionIdentifier: "6000", transactionIdentifier: "6000" };
    const first = await app.link(
      app.device({ appTransactionIdentifier: null }).request({ ...older, purchaseDate: now - 20 * DAY }),
      "user-1",
    );
    const device = app.device({ appTransactionIdentifier: null });
    const moved = {
      originalTransactionIdentifier: "6001",
      transactionIdentifier: "6001",
      purchaseDate: now - 5 * DAY,
      signedDate: now - 2000,
      previousOriginalTransactionIdentifier: "6000",
    };
    // Until the new lineage names the older one, its owner is another customer.
    const { previousOriginalTransactionIdentifier: _, ...unnamed } = moved;
    const second = await app.synchronize(device.request({ ...unnamed, signedDate: now - 3000 }));
    expect(second.body.customerIdentifier).not.toBe(first.body.customerIdentifier);
    const merged = await app.synchronize(device.request(moved));
    expect(merged.body.customerIdentifier).toBe(first.body.customerIdentifier);
    expect(merged.body.entitlements).toMatchObject([
      { status: "active", startsAt: new Date(now - 5 * DAY).toISOString() },
    ]);
    expect((await app.read("user-1")).body.customerIdentifiers).toEqual([first.body.customerIdentifier]);
    const refunded = { ...moved, signedDate: now - 1000, revocationDate: now - 1500 };
    expect(statuses(await app.synchronize(device.request(refunded)))).toEqual([["premium", "revoked"]]);
    expect(statuses(await app.read("user-1"))).toEqual([["premium", "revoked"]]);
    expect(outcome(await app.link(device.request(moved), "user-2"))).toEqual([
      409,
      "CUSTOMER_ALREADY_LINKED",
    ]);
  });
});

describe("refusals, in the contract's order", () => {
  test("a JWS that does not verify is 400 and stores nothing, at any place in the request", async () => {
    const app = await service.application();
    const device = app.device();
    const { signedAppTransaction, signedTransactions } = device.request({}, {}, {});
    const stranger = signJws({ bundleId: app.bundleIdentifier }, makeChain());
    const before = await tableText();
    const answer = await app.link(
      { signedAppTransaction, signedTransactions: [...signedTransactions, stranger] },
      "user-1",
    );
    expect(outcome(answer)).toEqual([400, "INVALID_TRANSACTION"]);
    expect(answer.body.message).toContain("3");
    expect(outcome(await app.link({ signedAppTransaction: stranger }, "user-1"))).toEqual([
      400,
      "INVALID_APP_TRANSACTION",
    ]);
    expect(outcome(await app.link({ signedAppTransaction: signedTransactions[0] }, "user-1"))).toEqual([
      400,
      "INVALID_APP_TRANSACTION",
    ]);
    expect(await tableText()).toBe(before);
  });

  test("a renewal info that does not verify is 400 and stores nothing", async () => {
    const app = await service.application();
    const request = app.device().request({});
    const before = await tableText();
    const [transaction = ""] = request.signedTransactions;
    for (const renewalInfo of ["a.b.c", transaction]) {
      const answer = await app.link({ ...request, signedRenewalInfos: [renewalInfo] }, "user-1");
      expect(outcome(answer)).toEqual([400, "INVALID_RENEWAL_INFO"]);
      expect(answer.body.message).toMatch(/renewal info at index 0 could not be verified/);
    }
    expect(await tableText()).toBe(before);
  });

  test("the body's shape is checked first, and a signature before the application", async () => {
    const app = await service.application();
    expect(outcome(await app.synchronize({}))).toEqual([400, "INVALID_REQUEST"]);
    expect(outcome(await app.synchronize({ signedAppTransaction: "a.b.c" }))).toEqual([
      400,
      "INVALID_APP_TRANSACTION",
    ]);
    const elsewhere = app.device({ bundleIdentifier: "com.example.unknown" });
    expect(outcome(await app.synchronize(elsewhere.request({})))).toEqual([404, "APPLICATION_NOT_FOUND"]);
    expect(outcome(await app.link(elsewhere.request({}), "user-1"))).toEqual([
      404,
      "STORE_CONFIGURATION_NOT_FOUND",
    ]);
  });

  test("another application's bundle is not configured here", async () => {
    const [app, other] = [await service.application(), await service.application()];
    expect(outcome(await app.link(other.device().request({}), "user-1"))).toEqual([
      404,
      "STORE_CONFIGURATION_NOT_FOUND",
    ]);
    const token = other.buyOnAndroid();
    expect(outcome(await app.linkAndroid(token, "user-1", { packageName: other.packageName }))).toEqual([
      404,
      "STORE_CONFIGURATION_NOT_FOUND",
    ]);
  });

  test("a wrong app id in production, and an environment that is not accepted", async () => {
    const app = await service.application({
      iosStore: { appAppleIdentifier: 1_234_567_890, environments: ["production"] },
    });
    expect(outcome(await app.synchronize(app.device({ appAppleIdentifier: 5 }).request({})))).toEqual([
      400,
      "INVALID_APP_TRANSACTION",
    ]);
    expect(outcome(await app.synchronize(app.device({ environment: "Sandbox" }).request({})))).toEqual([
      400,
      "ENVIRONMENT_NOT_ACCEPTED",
    ]);
  });

  test("payloads of different apps, environments or Apple Accounts", async () => {
    const app = await service.application();
    const [one, other] = [app.device(), app.device()];
    const sandbox = app.device({ environment: "Sandbox" });
    const { signedAppTransaction } = one.request();
    for (const { signedTransactions } of [other.request({}), sandbox.request({})]) {
      const mixed = { signedAppTransaction, signedTransactions };
      expect(outcome(await app.synchronize(mixed))).toEqual([400, "INVALID_TRANSACTION"]);
    }
  });

  test("StoreKit testing in Xcode without a registered certificate", async () => {
    const xcode = makeXcodeSigner();
    const registered = await service.application({
      iosStore: { environments: ["sandbox"], xcodeCertificates: [fingerprintOf(xcode.certificate)] },
    });
    const unregistered = await service.application();
    const requestOf = (bundleIdentifier: string) => {
      const customer = {
        bundleIdentifier,
        appAppleIdentifier: 0,
        environment: "Xcode" as const,
        appTransactionIdentifier: "0",
        receiptCreationDate: Date.now() - 1000,
        transactions: [],
      };
      const transaction = {
        productIdentifier: "monthly",
        type: "Auto-Renewable Subscription" as const,
        transactionIdentifier: "0",
        purchaseDate: Date.now() - DAY,
        expiresDate: Date.now() + DAY,
        signedDate: Date.now() - 1000,
      };
      return {
        signedAppTransaction: signJws(appTransactionPayload(customer), xcode),
        signedTransactions: [signJws(transactionPayload(customer, transaction), xcode)],
      };
    };
    expect(
      (await registered.synchronize(requestOf(registered.bundleIdentifier))).body.entitlements,
    ).toMatchObject([{ environment: "xcode", status: "active" }]);
    for (const bundle of [unregistered.bundleIdentifier, "com.example.unknown"])
      expect(outcome(await unregistered.synchronize(requestOf(bundle)))).toEqual([
        400,
        "INVALID_APP_TRANSACTION",
      ]);
  });

  test("an application that sells nothing in the store", async () => {
    const androidOnly = await service.application({ products: [PRODUCTS[4]] });
    expect(outcome(await androidOnly.synchronize(androidOnly.device().request({})))).toEqual([
      404,
      "PAYWALL_NOT_FOUND",
    ]);
    const iosOnly = await service.application({ products: [PRODUCTS[0]] });
    expect(outcome(await iosOnly.linkAndroid(iosOnly.buyOnAndroid(), "user-1"))).toEqual([
      404,
      "PAYWALL_NOT_FOUND",
    ]);
  });

  test("the paywall is checked before the store is asked, and after every transaction", async () => {
    const iosOnly = await service.application({ products: [PRODUCTS[0]] });
    expect(outcome(await iosOnly.linkAndroid("unknown", "user-1"))).toEqual([404, "PAYWALL_NOT_FOUND"]);
    const androidOnly = await service.application({ products: [PRODUCTS[4]] });
    const { signedAppTransaction } = androidOnly.device().request();
    const request = { signedAppTransaction, signedTransactions: ["a.b.c"] };
    expect(outcome(await androidOnly.synchronize(request))).toEqual([400, "INVALID_TRANSACTION"]);
  });

  test("an Android environment that is not accepted", async () => {
    const app = await service.application({ androidEnvironments: ["production"] });
    const before = await tableText();
    expect(outcome(await app.linkAndroid(app.buyOnAndroid({ test: true }), "user-1"))).toEqual([
      400,
      "ENVIRONMENT_NOT_ACCEPTED",
    ]);
    expect(await tableText()).toBe(before);
  });

  test("an index counts every transaction of the request, duplicates included", async () => {
    const app = await service.application();
    const { signedAppTransaction, signedTransactions } = app.device().request({});
    const twice = [...signedTransactions, ...signedTransactions, "a.b.c"];
    const answer = await app.synchronize({ signedAppTransaction, signedTransactions: twice });
    expect(answer.body).toMatchObject({
      error: "INVALID_TRANSACTION",
      message: expect.stringContaining("index 2"),
    });
  });

  test("a credential whose application no longer exists", async () => {
    const app = await service.application();
    const gone = await service.application();
    const { DeleteCommand } = await import("@aws-sdk/lib-dynamodb");
    const pk = `APPLICATION#${gone.identifier}`;
    for (const item of await service.table.items())
      if (item["pk"] === pk)
        await service.table.client.send(
          new DeleteCommand({ TableName: service.table.name, Key: { pk, sk: item["sk"] } }),
        );
    expect(outcome(await gone.link(app.device().request({}), "user-1"))).toEqual([
      404,
      "APPLICATION_NOT_FOUND",
    ]);
    expect(outcome(await gone.linkAndroid("token", "user-1"))).toEqual([404, "APPLICATION_NOT_FOUND"]);
    expect((await gone.read("user-1")).body.entitlements).toEqual([]);
  });

  test("an Android token that is unknown to the store, or of another kind or product", async () => {
    const app = await service.application();
    expect(outcome(await app.linkAndroid("unknown", "user-1"))).toEqual([400, "INVALID_PURCHASE"]);
    const token = app.buyOnAndroid();
    expect(outcome(await app.linkAndroid(token, "user-1", { productKind: "one_time_product" }))).toEqual([
      400,
      "INVALID_PURCHASE",
    ]);
    const maps = app.buyOnAndroid({
      productKind: "one_time_product",
      productIdentifier: "maps",
      basePlanIdentifier: undefined,
    });
    const asked = { productKind: "one_time_product", productIdentifier: "other" };
    expect(outcome(await app.linkAndroid(maps, "user-1", asked))).toEqual([400, "INVALID_PURCHASE"]);
    expect(statuses(await app.linkAndroid(maps, "user-1", { ...asked, productIdentifier: "maps" }))).toEqual([
      ["maps", "active"],
    ]);
  });

  test("a purchase that the store has dropped is answered from the stored facts, or refused without any", async () => {
    const app = await service.application();
    const known = app.buyOnAndroid();
    const first = await app.linkAndroid(known, "user-1");
    service.android.drop(known);
    const again = await app.linkAndroid(known, "user-1");
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(outcome(await app.linkAndroid(known, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect(outcome(await app.linkAndroid(known, "user-1", { productKind: "one_time_product" }))).toEqual([
      400,
      "INVALID_PURCHASE",
    ]);
    const unknown = app.buyOnAndroid();
    service.android.drop(unknown);
    expect(outcome(await app.linkAndroid(unknown, "user-1"))).toEqual([400, "PURCHASE_NO_LONGER_AVAILABLE"]);
  });

  test("a failing store is 503 and stores nothing, and the same request works later", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid();
    const before = await tableText();
    service.android.failNext("publisher", { status: 503 }, { status: 503 });
    const unavailable = await app.linkAndroid(token, "user-1");
    expect(outcome(unavailable)).toEqual([503, "STORE_UNAVAILABLE"]);
    expect(Number(unavailable.headers.get("retry-after"))).toBeGreaterThan(0);
    const forbidden = {
      status: 403,
      body: { error: { code: 403, errors: [{ reason: "permissionDenied" }] } },
    };
    service.android.failNext("publisher", forbidden, forbidden);
    expect(outcome(await app.linkAndroid(token, "user-1"))).toEqual([503, "STORE_REJECTED_CREDENTIAL"]);
    service.android.clearFaults();
    expect(await tableText()).toBe(before);
    expect((await app.linkAndroid(token, "user-1")).status).toBe(200);
  });

  test("a failed acknowledgement does not fail the link and is due until a later one succeeds", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid();
    const due = async () =>
      (await service.table.items()).filter(
        (item) =>
          String(item["pk"]).includes(app.identifier) &&
          item["sk"] === "PURCHASE" &&
          "acknowledgement" in item,
      ).length;
    const answer = service.android.read(token)?.answer;
    // The look-up succeeds; the acknowledgement and its retry fail.
    service.android.calls.length = 0;
    service.android.failNext("publisher", { status: 200, body: answer }, { status: 500 }, { status: 500 });
    expect((await app.linkAndroid(token, "user-1")).status).toBe(200);
    service.android.clearFaults();
    expect(await due()).toBe(1);
    expect((await app.linkAndroid(token, "user-1")).status).toBe(200);
    expect(await due()).toBe(0);
    expect(service.android.read(token)?.answer.acknowledgementState).toBe(
      "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    );
  });
});

describe("credentials", () => {
  const readPath = "/v1/customers/user-1/entitlements";

  test.each([
    ["missing", undefined],
    ["malformed", "abc"],
    ["mistyped", "cek_0123456789abcdef_" + "0".repeat(72)],
  ])("a key that is %s is 401 on every endpoint with a credential", async (_, key) => {
    const app = await service.application();
    for (const [method, path] of [
      ["POST", "/v1/customers/android-store/link"],
      ["POST", "/v1/customers/ios-store/link"],
      ["GET", readPath],
    ] as const)
      expect(
        outcome(await service.send(method, path, { key, ...(method === "POST" && { body: {} }) })),
      ).toEqual([401, "INVALID_CREDENTIAL"]);
    expect(app.key).toMatch(/^cek_/);
  });

  test("a key that is unknown, revoked or expired is 401 with the same body", async () => {
    const app = await service.application();
    const revoked = await app.issue(["entitlements:read"]);
    const { keyId } = await import("../../lib/identifiers.ts");
    await service.credentials.revoke(keyId(revoked.keyIdentifier), Date.now());
    const expired = await app.issue(["entitlements:read"], Date.now() - 1);
    const { issueCredential } = await import("../../lib/applications/credential.ts");
    const unknown = issueCredential(
      { application: app.identifier, label: null, scopes: ["entitlements:read"], expiresAt: null },
      Date.now(),
    );
    const answers = await Promise.all(
      [revoked.apiKey, expired.apiKey, unknown.apiKey].map((key) => service.send("GET", readPath, { key })),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect(body).toEqual({
        error: "INVALID_CREDENTIAL",
        message: "A valid credential is required, in the header Authorization: Bearer <credential>.",
      });
    }
  });

  test("a key without the endpoint's scope is 403, and a key serves all endpoints of its scopes", async () => {
    const app = await service.application();
    const { apiKey: reads } = await app.issue(["entitlements:read"]);
    const { apiKey: writes } = await app.issue(["customers:write"]);
    const body = { ...app.device().request({}), applicationAccountIdentifier: "user-1" };
    const link = (key: string) => service.send("POST", "/v1/customers/ios-store/link", { key, body });
    const read = (key: string) => service.send("GET", readPath, { key });
    expect((await read(reads)).status).toBe(200);
    const refused = await link(reads);
    expect(outcome(refused)).toEqual([403, "INSUFFICIENT_SCOPE"]);
    expect(refused.body.message).toMatch(/ The key lacks: (?:[\w:]+, )*customers:write\b/);
    expect((await link(writes)).status).toBe(200);
    expect(outcome(await read(writes))).toEqual([403, "INSUFFICIENT_SCOPE"]);
    expect((await read(app.key)).status).toBe(200);
    expect((await link(app.key)).status).toBe(200);
  });

  test("several keys are valid at once, so one can be rotated without a gap", async () => {
    const app = await service.application();
    const next = await app.issue(["entitlements:read"]);
    for (const key of [app.key, next.apiKey])
      expect((await service.send("GET", readPath, { key })).status).toBe(200);
  });

  test("two applications never see each other's accounts", async () => {
    const [one, other] = [await service.application(), await service.application()];
    await one.link(one.device().request({}), "user-1");
    expect((await one.read("user-1")).body.customerIdentifiers).toHaveLength(1);
    expect((await other.read("user-1")).body).toMatchObject({
      customerIdentifiers: [],
      applicationIdentifier: other.identifier,
    });
  });

  test("synchronize ignores the Authorization header", async () => {
    const app = await service.application();
    for (const authorization of ["Bearer nonsense", "Basic abc", "x"]) {
      const answer = await service.send("POST", "/v1/customers/ios-store/synchronize", {
        body: app.device().request({}),
        headers: { Authorization: authorization },
      });
      expect(answer.status).toBe(200);
    }
  });
});

describe("requests", () => {
  test("a body is read as JSON whatever its Content-Type, and may be compressed", async () => {
    const app = await service.application();
    const request = app.device().request({});
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"])
      expect(
        (
          await service.send("POST", "/v1/customers/ios-store/synchronize", {
            body: JSON.stringify(request),
            headers: { "Content-Type": type },
          })
        ).status,
      ).toBe(200);
    const compressed = await service.send("POST", "/v1/customers/ios-store/synchronize", {
      body: gzipSync(JSON.stringify(request)),
      headers: { "Content-Encoding": "gzip" },
    });
    expect(compressed.status).toBe(200);
  });

  test.each([
    ["GET", "/"],
    ["GET", "/v1"],
    ["GET", "/v1/customers/a/b/entitlements"],
    ["POST", "/v1/customers/a/entitlements"],
    ["GET", "/v1/customers/ios-store/synchronize"],
    ["DELETE", "/v1/customers/ios-store/link"],
  ])("%s %s is not a route: 404", async (method, path) => {
    expect(outcome(await service.send(method, path))).toEqual([404, "ROUTE_NOT_FOUND"]);
  });

  test.each(["%", "%zz", "%C3%28"])("the path parameter %s is a bad escape: 400", async (raw) => {
    const app = await service.application();
    const answer = await service.send("GET", `/v1/customers/${raw}/entitlements`, { key: app.key });
    expect(outcome(answer)).toEqual([400, "INVALID_REQUEST"]);
    expect(answer.body.issues?.[0]?.path).toBe("applicationAccountIdentifier");
  });

  test("no function logs a token, a key or a JWS in these tests", () => {
    expect(service.log.join("\n")).not.toMatch(/eyJ|cek_[0-9a-f]{16}_|tok/);
  });
});
