import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DeleteCommand, DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { eraseCustomer } from "../../../lib/administration/acts/operations.ts";
import { reprojectApplication } from "../../../lib/administration/acts/reproject.ts";
import { applyManifest } from "../../../lib/administration/acts/apply.ts";
import { readManifest } from "../../../lib/administration/manifest/manifest.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../../lib/customers/storing/bury-remains.ts";
import { storeFacts, type ResolvedCustomer } from "../../../lib/customers/storing/store-facts.ts";
import type { AssertedBy } from "../../../lib/contract/schemas.ts";
import type { IdentityReference, ProvenPurchase } from "../../../lib/entitlements/proven-purchase.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import {
  accountId,
  applicationId,
  customerId,
  type ApplicationId,
  type CustomerId,
} from "../../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { createApplicationTable } from "../../../lib/table/applications/applications.ts";
import { createOperationTable } from "../../../lib/table/customers/operations.ts";
import { createFindOwnership } from "../../../lib/table/customers/ownership.ts";
import { operationsOn, tellsIn } from "../../../operator/composition.ts";
import { runOperator } from "../../../operator/program.ts";
import { keyedHash } from "../../../testing/support/world.ts";
import { aLine, aPurchase, NOW, proven } from "../../../testing/support/stores/purchases.ts";
import { factStoreOn } from "../../../testing/support/fact-store.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(() => table.remove());

const pause = () => Promise.resolve();

const device = (value: string): IdentityReference => ({
  store: "ios-store",
  kind: "app-transaction",
  environment: "production",
  value,
});
const owned = (key: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({ key, lines: [aLine({ transactionIdentifier: key, ...line })] });

const anApplication = async (
  products: readonly object[] = [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium"] }],
) => {
  const identifier = applicationId(uuid());
  const bundleIdentifier = `com.example.t${identifier.replaceAll("-", "")}`;
  const applications = createApplicationTable(table);
  const sell = async (sold: readonly object[], transfers = "refuse"): Promise<void> => {
    const reading = readManifest(
      JSON.stringify({
        application: { identifier, name: "Trails", transfers },
        stores: { "ios-store": [{ bundleIdentifier, environments: ["sandbox"] }] },
        entitlements: { premium: {} },
        products: sold,
      }),
    );
    if (reading.outcome === "invalid") throw new Error(JSON.stringify(reading));
    await applyManifest(reading.manifest, identifier, applications);
  };
  await sell(products);
  const store = async (
    {
      identities = [],
      purchases = [],
      proved = purchases.map((purchase) => proven(purchase)),
    }: { identities?: IdentityReference[]; purchases?: Purchase[]; proved?: ProvenPurchase[] },
    account: string | null = null,
    { moment = NOW, assertedBy = "credential" }: { moment?: number; assertedBy?: AssertedBy } = {},
  ): Promise<ResolvedCustomer | null> => {
    const application = await applications.load(identifier);
    if (application === null) throw new Error("no application");
    const stored = await storeFacts(
      factStoreOn(table, () => moment),
      application,
      {
        environment: proved[0]?.purchase.environment ?? "production",
        identities,
        purchases: proved,
        renewals: [],
        acknowledgementDue: null,
        origin: null,
      },
      account === null ? null : { account: accountId(account), assertedBy },
    );
    if (stored.outcome === "refused") throw new ServiceError(stored.code);
    return stored.customer;
  };
  return { identifier, sell, store };
};

const run = async (words: readonly string[], ask: ((question: string) => Promise<boolean>) | null = null) => {
  let [out, err] = ["", ""];
  const code = await runOperator(words, {
    environment: { ...process.env, TABLE_NAME: table.name },
    now: () => NOW,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    waitForIndex: () => Promise.resolve(),
    wait: () => Promise.resolve(),
    ask,
  });
  return { code, out, err, json: () => JSON.parse(out) as Record<string, unknown> };
};

const meant = ["--reason", "asked by the person", "--by", "ada", "--yes"];
const itemsOf = async (application: ApplicationId) =>
  (await table.items()).filter(({ pk }) => String(pk).includes(application));
const codeOf = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => "accepted",
    (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
  );

describe("customer show", () => {
  test("shows the link, the identities and every purchase, by an alias too", async () => {
    const { identifier, store } = await anApplication();
    const first = await store({ identities: [device("d1")], purchases: [owned("p1")] }, "user-1");
    const second = await store({ purchases: [owned("p2")] });
    await store({ identities: [device("d1")], purchases: [owned("p2")] });
    for (const customer of [first, second]) {
      const shown = (
        await run(["customer", "show", identifier, customer?.identifier ?? "", "--json"])
      ).json();
      expect(shown).toMatchObject({
        customerIdentifier: first?.identifier,
        link: { account: "user-1", assertedBy: "credential" },
        aliases: [second?.identifier],
        identities: [{ kind: "app-transaction", value: "d1" }],
        purchases: [{ key: "p1" }, { key: "p2" }],
      });
    }
    const text = await run(["customer", "show", identifier, first?.identifier ?? ""]);
    expect(text.out).toContain("linked to account user-1");
  });
  test("says so when there is no such customer", async () => {
    const { identifier } = await anApplication();
    const { code, err } = await run(["customer", "show", identifier, uuid()]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^There is no customer .* in Trails\.\n$/)]);
  });
});

describe("customer unlink", () => {
  test("does nothing without --yes or a confirmation, and says what it would", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ purchases: [owned("p1")] }, "user-1");
    const before = await itemsOf(identifier);
    const words = ["customer", "unlink", identifier, customer?.identifier ?? "", "--reason", "r"];
    const { code, err } = await run(words);
    expect(code).toBe(1);
    expect(err).toMatch(/takes customer .* \(1 purchase\) away from account user-1.*add --yes/);
    expect((await run(words, () => Promise.resolve(false))).err).toContain("Nothing was done.");
    expect(await itemsOf(identifier)).toEqual(before);
    expect((await run(words, () => Promise.resolve(true))).code).toBe(0);
    expect(await itemsOf(identifier)).not.toEqual(before);
  });
  test("frees the customer for another account, with an audit entry", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ purchases: [owned("p1")] }, "user-1");
    expect(await codeOf(store({ purchases: [owned("p1")] }, "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
    const done = await run([
      "customer",
      "unlink",
      identifier,
      customer?.identifier ?? "",
      ...meant,
      "--json",
    ]);
    expect(done.json()).toEqual({
      customerIdentifier: customer?.identifier,
      unlinkedFrom: "user-1",
      linkedTo: null,
    });
    expect((await store({ purchases: [owned("p1")] }, "user-2"))?.identifier).toBe(customer?.identifier);
    const audit = await run(["application", "audit", identifier, "--json"]);
    expect(audit.json()).toEqual({
      applicationIdentifier: identifier,
      audit: [
        {
          action: "unlink",
          moment: isoTime(NOW),
          by: "ada",
          caller: "local",
          reason: "asked by the person",
          customer: customer?.identifier,
          accounts: [],
          what: ["was linked by a credential"],
        },
      ],
    });
    expect((await run(["application", "audit", identifier])).out).toMatch(
      new RegExp(
        `^MOMENT +ACTION +CUSTOMER +BY +CALLER +REASON\n${isoTime(NOW)} +unlink +${customer?.identifier} +ada +local +asked by the person\n  was linked by a credential\n$`,
      ),
    );
  });
  test("does nothing to an unlinked customer", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ purchases: [owned("p1")] });
    const nothing = async () => {
      const audit = await run(["application", "audit", identifier]);
      expect(audit.out).toBe("No operator has changed anything of Trails.\n");
    };
    await nothing();
    const done = await run([
      "customer",
      "unlink",
      identifier,
      customer?.identifier ?? "",
      ...meant,
      "--json",
    ]);
    expect(done.json()).toEqual({
      customerIdentifier: customer?.identifier,
      unlinkedFrom: null,
      linkedTo: null,
    });
    await nothing();
  });
});

describe("customer unlink --to", () => {
  test("moves the customer in one step, and records the move", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ purchases: [owned("p1")] }, "user-1");
    const words = ["customer", "unlink", identifier, customer?.identifier ?? "", "--to", "user-2"];
    expect((await run([...words, ...meant, "--json"])).json()).toEqual({
      customerIdentifier: customer?.identifier,
      unlinkedFrom: "user-1",
      linkedTo: "user-2",
    });
    expect(await codeOf(store({ purchases: [owned("p1")] }, "user-1"))).toBe("CUSTOMER_ALREADY_LINKED");
    expect((await store({ purchases: [owned("p1")] }, "user-2"))?.identifier).toBe(customer?.identifier);
    expect((await run(["application", "audit", identifier, "--json"])).json()["audit"]).toMatchObject([
      { action: "move", customer: customer?.identifier, by: "ada" },
    ]);
  });
});

describe("IDENTITY_CONFLICT, where a person's app transaction and purchase have different accounts", () => {
  const lapsed = owned("p1", { endsAt: NOW - 1 });
  const both = { identities: [device("d1")], purchases: [lapsed] };

  test.each(["refuse", "when_inactive", "always"])(
    "is the answer under transfers: %s, and nothing moves",
    async (transfers) => {
      const { identifier, sell, store } = await anApplication();
      await sell([{ store: "ios-store", productIdentifier: "monthly", grants: ["premium"] }], transfers);
      await store({ purchases: [lapsed] }, "user-a");
      await store({ identities: [device("d1")] }, "user-b");
      const before = await itemsOf(identifier);
      for (const account of ["user-a", "user-b", null])
        expect(await codeOf(store(both, account))).toBe("IDENTITY_CONFLICT");
      expect(await itemsOf(identifier)).toEqual(before);
    },
  );
  test("keeps a new purchase with the app transaction id, no older one", async () => {
    const { identifier, store } = await anApplication();
    await store({ purchases: [lapsed] }, "user-a");
    await store({ identities: [device("d1")] }, "user-b");
    const identity = device("d1");
    const proved = [proven(lapsed), proven(owned("new"), { identity }), proven(owned("old"))];
    expect(await codeOf(store({ identities: [identity], proved }, "user-b"))).toBe("IDENTITY_CONFLICT");
    expect((await run(["customer", "find", identifier, "new"])).out).toContain("account user-b");
    expect((await run(["customer", "find", identifier, "old"])).err).toContain("has no customer with");
  });
  test("ends once the operator has moved one customer to the other's account", async () => {
    const { identifier, store } = await anApplication();
    const bought = await store({ purchases: [lapsed] }, "user-a");
    const signedIn = await store({ identities: [device("d1")] }, "user-b");
    const found = async (name: string) =>
      (await run(["customer", "find", identifier, name, "--json"])).json()["customers"];
    expect([await found("p1"), await found("d1")]).toMatchObject([
      [{ customerIdentifier: bought?.identifier, link: { account: "user-a" } }],
      [{ customerIdentifier: signedIn?.identifier, link: { account: "user-b" } }],
    ]);
    await run(["customer", "unlink", identifier, bought?.identifier ?? "", "--to", "user-b", ...meant]);
    expect((await store(both, "user-b"))?.holdings.map(({ key }) => key)).toEqual(["p1"]);
    expect(await found("p1")).toEqual(await found("d1"));
    expect(await codeOf(store(both, "user-a"))).toBe("CUSTOMER_ALREADY_LINKED");
  });
});

describe("account unlink --asserted-by client", () => {
  test("unlinks customers that clients claimed, and none that a credential linked", async () => {
    const { identifier, store } = await anApplication();
    const claimed = await store({ purchases: [owned("p1")] }, "user-1", { assertedBy: "client" });
    const linked = await store({ purchases: [owned("p2")] }, "user-1");
    const done = await run([
      "account",
      "unlink",
      identifier,
      "user-1",
      "--asserted-by",
      "client",
      ...meant,
      "--json",
    ]);
    expect(done.json()).toEqual({
      applicationAccountIdentifier: "user-1",
      unlinkedCustomers: [claimed?.identifier],
    });
    const shown = (await run(["account", "show", identifier, "user-1", "--json"])).json();
    expect(shown).toMatchObject({ customers: [{ customerIdentifier: linked?.identifier }] });
  });
  test("leaves a customer that a credential confirms while the operator is asked", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ purchases: [owned("p1")] }, "user-1", { assertedBy: "client" });
    const words = ["account", "unlink", identifier, "user-1", "--asserted-by", "client", "--reason", "r"];
    await run(words, async () => (await store({ purchases: [owned("p1")] }, "user-1")) !== null);
    const shown = (await run(["account", "show", identifier, "user-1", "--json"])).json();
    expect(shown).toMatchObject({ customers: [{ customerIdentifier: customer?.identifier }] });
  });
  test("refuses to unlink what credentials linked", async () => {
    const { identifier } = await anApplication();
    const done = await run([
      "account",
      "unlink",
      identifier,
      "user-1",
      "--asserted-by",
      "credential",
      ...meant,
    ]);
    expect(done.code).not.toBe(0);
  });
});

describe("customer find", () => {
  test("finds a purchase's owner by the store's name or the report's", async () => {
    const { identifier, store } = await anApplication();
    const ofToken = aPurchase({ store: "android-store", key: purchaseKeyOfToken("token.of-a-purchase/x") });
    const holder = await store({ identities: [device("704")], purchases: [owned("700"), ofToken] }, "user-1");
    const free = await store({ purchases: [owned("900")] });
    const names = ["700", "704", "token.of-a-purchase/x", ofToken.key];
    for (const name of names) {
      const found = await run(["customer", "find", identifier, name, "--json"]);
      expect(found.json()).toMatchObject({
        customers: [{ customerIdentifier: holder?.identifier, link: { account: "user-1" } }],
      });
    }
    expect((await run(["customer", "find", identifier, "900"])).out).toMatch(
      new RegExp(`^Customer ${free?.identifier} of Trails, linked to no account\\n$`),
    );
    const absent = await run(["customer", "find", identifier, `secret-${"x".repeat(4000)}`]);
    expect(absent).toMatchObject({ code: 1, out: "" });
    expect(absent.err).toMatch(/^Trails has no customer with/);
    expect(absent.err).not.toContain("secret");
    await run(["customer", "erase", identifier, holder?.identifier ?? "", ...meant]);
    expect((await run(["customer", "find", identifier, "700"])).err).toContain("was erased");
  });
  test("finds a customer whose erasure is unfinished, and any other owner too", async () => {
    const { identifier, store } = await anApplication();
    const ended = await store({ purchases: [owned("700")] }, "user-1");
    const living = await store({ purchases: [aPurchase({ key: "700", environment: "sandbox" })] }, "user-2");
    await table.client.send(
      new DeleteCommand({
        TableName: table.name,
        Key: { pk: `APPLICATION#${identifier}#CUSTOMER#${ended?.identifier}`, sk: "CUSTOMER" },
      }),
    );
    const found = await run(["customer", "find", identifier, "700", "--json"]);
    expect(found.json()).toMatchObject({
      customers: [{ customerIdentifier: living?.identifier }],
      gone: [ended?.identifier],
    });
    expect((await run(["customer", "find", identifier, "700"])).out).toContain(
      `Customer ${ended?.identifier} of Trails, whose erasure was interrupted`,
    );
  });
});

describe("customer erase", () => {
  test("leaves tombstones, which refuse replays until they expire", async () => {
    const { identifier, store } = await anApplication();
    const purchases = Array.from({ length: 120 }, (_, index) => owned(`p${index}`));
    const customer = await store({ identities: [device("d1")], purchases }, "user-1");
    await store({ purchases: [owned("q1")] });
    await store({ identities: [device("d1")], purchases: [owned("q1")] });
    const done = await run(["customer", "erase", identifier, customer?.identifier ?? "", ...meant, "--json"]);
    expect(done.json()).toMatchObject({ erased: { purchases: 121, identities: 1, aliases: 1 } });

    const left = (await itemsOf(identifier)).filter(
      ({ sk, pk }) =>
        ["CUSTOMER", "PURCHASE", "IDENTITY"].includes(String(sk)) || String(pk).includes("#ACCOUNT#"),
    );
    expect(left).toHaveLength(122);
    for (const item of left)
      expect(Object.keys(item).sort()).toEqual(["erasedUntil", "expiresAt", "pk", "sk"]);

    for (const replay of [
      { purchases: [owned("p7")] },
      { identities: [device("d1")] },
      { purchases: [owned("q1")] },
    ])
      expect(await codeOf(store(replay, "user-1", { assertedBy: "client" }))).toBe("CUSTOMER_NOT_FOUND");
    const over = NOW + ERASURE_BLOCKS_MILLISECONDS;
    expect(await codeOf(store({ purchases: [owned("p7")] }, null, { moment: over - 1 }))).toBe(
      "CUSTOMER_NOT_FOUND",
    );
    const made = await store({ identities: [device("d1")], purchases: [owned("p7")] }, "user-2", {
      moment: over,
    });
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect(made?.holdings.map(({ key }) => key)).toEqual(["p7"]);
  });
  test("completes while the index still shows buried items", async () => {
    const { identifier, store } = await anApplication();
    const customer = customerId((await store({ purchases: [owned("p1")] }, "user-1"))?.identifier ?? "");
    await run(["customer", "erase", identifier, customer, ...meant]);
    // An index that is behind still lists the item under its owner; the tombstone itself has no owner.
    const buried = (await itemsOf(identifier)).find(({ sk }) => sk === "PURCHASE");
    const owner = `APPLICATION#${identifier}#CUSTOMER#${customer}`;
    const late = { name: table.name, client: DynamoDBDocumentClient.from(new DynamoDBClient({})) };
    late.client.middlewareStack.add(
      (next, context) => async (args) => {
        const answer = await next(args);
        if (context["commandName"] !== "QueryCommand") return answer;
        const Items = [{ pk: { S: String(buried?.["pk"]) }, sk: { S: "PURCHASE" }, owner: { S: owner } }];
        Object.assign(answer.output ?? {}, { Items, Count: 1 });
        return answer;
      },
      { step: "deserialize", priority: "high" },
    );
    const found = await createFindOwnership(late, pause)(identifier, customer);
    expect(found).toEqual({ purchases: [], aliases: [], identities: [] });
    late.client.destroy();
  });
  test("buries items that the index does not show yet", async () => {
    const { identifier, store } = await anApplication();
    const customer = customerId((await store({ purchases: [owned("p1")] }, "user-1"))?.identifier ?? "");
    const late = { name: table.name, client: DynamoDBDocumentClient.from(new DynamoDBClient({})) };
    let asked = 0;
    late.client.middlewareStack.add(
      (next, context) => async (args) => {
        const answer = await next(args);
        // The first query sees the index as it was before the last write.
        if (context["commandName"] === "QueryCommand" && (asked += 1) === 1)
          Object.assign(answer.output ?? {}, { Items: [], Count: 0 });
        return answer;
      },
      { step: "deserialize", priority: "high" },
    );
    const operations = operationsOn(late, {
      now: () => NOW,
      pause,
      waitForIndex: () => Promise.resolve(),
      newEntry: uuid,
      keyedHash: () => Promise.reject(new Error("nothing was told")),
      hashAccounts: () => Promise.resolve([]),
    });
    const authority = { by: "ada", caller: null, reason: "asked by the person" };
    expect(await eraseCustomer(operations, identifier, customer, authority, () => undefined)).toMatchObject({
      purchases: 1,
    });
    expect(asked).toBeGreaterThan(2);
    const left = (await itemsOf(identifier)).filter(({ sk }) => sk === "PURCHASE");
    expect(left.map((item) => Object.keys(item).sort())).toEqual([["erasedUntil", "expiresAt", "pk", "sk"]]);
    late.client.destroy();
  });
  test("completes an unfinished erasure, and says so when nothing is left", async () => {
    const { identifier, store } = await anApplication();
    const customer = await store({ identities: [device("d1")], purchases: [owned("p1")] }, "user-1");
    const item = (await itemsOf(identifier)).find(({ sk }) => sk === "CUSTOMER");
    await table.client.send(
      new DeleteCommand({ TableName: table.name, Key: { pk: item?.["pk"], sk: "CUSTOMER" } }),
    );
    expect(await codeOf(store({ purchases: [owned("p1")] }))).toBe("CUSTOMER_NOT_FOUND");
    const words = ["customer", "erase", identifier, customer?.identifier ?? "", ...meant, "--json"];
    // The refused request above has buried the purchase it showed.
    expect((await run(words)).json()).toMatchObject({ erased: { purchases: 0, identities: 1 } });
    expect((await run(words)).code).toBe(1);
  });
});

describe("accounts", () => {
  test("export holds everything known of an account and nothing of another", async () => {
    const { identifier, store } = await anApplication();
    await store({ identities: [device("d1")], purchases: [owned("p1")] }, "user-1");
    await store({ purchases: [owned("x1")] }, "user-2");
    const exported = await run(["account", "export", identifier, "user-1"]);
    expect(exported.json()).toMatchObject({
      applicationAccountIdentifier: "user-1",
      customers: [{ purchases: [{ key: "p1" }], identities: [{ value: "d1" }] }],
      entitlements: [{ identifier: "premium" }],
    });
    expect(exported.out).not.toContain("x1");
  });
  test("erase erases every customer of the account and shows its progress", async () => {
    const { identifier, store } = await anApplication();
    await store({ purchases: [owned("p1")] }, "user-1");
    await store({ purchases: [owned("p2")] }, "user-1");
    const done = await run(["account", "erase", identifier, "user-1", ...meant, "--json"]);
    expect(done.json()["erasedCustomers"]).toHaveLength(2);
    expect(done.err).toContain("erased 2 of 2 customers");
    for (const customer of done.json()["erasedCustomers"] as string[])
      expect(done.err).toContain(`erasing customer ${customer}`);
    expect(await codeOf(store({ purchases: [owned("p2")] }))).toBe("CUSTOMER_NOT_FOUND");
    expect((await run(["account", "erase", identifier, "user-1", ...meant])).out).toContain("No customer");
  });
  test("show lists every purchase of an account and explains its entitlements", async () => {
    const { identifier, store } = await anApplication();
    await store({ purchases: [owned("p1"), owned("p2", { productIdentifier: "unmapped" })] }, "user-1");
    const shown = await run(["account", "show", identifier, "user-1"]);
    expect(shown.out).toContain("purchase p1");
    expect(shown.out).toContain("purchase p2");
    expect(shown.out).toMatch(/premium/);
    const second = await run(["account", "show", identifier, "user-1", "--page", "2", "--per-page", "1"]);
    expect(second.out).toContain("Purchases 2 to 2 of 2");
    expect(second.out).toContain("purchase p2");
    expect(second.out).not.toContain("purchase p1");
    const refused = await run(["account", "show", identifier, "user-1", "--page", "0"]);
    expect(refused.err).toContain("--page must be a number from 1 on.");
    const words = ["account", "show", identifier, "user-1", "--json"];
    const everything = (await run(words)).json();
    expect(everything).toMatchObject({ purchases: 2, pages: 1 });
    expect((await run([...words, "--per-page", "1"])).json()).toMatchObject({ purchases: 2, pages: 2 });
  });
  test("list shows every application of the table", async () => {
    const [one, other] = [await anApplication(), await anApplication()];
    const listed = (await run(["application", "list"])).out.split("\n");
    for (const { identifier } of [one, other]) expect(listed).toContain(`${identifier}  Trails`);
  });
});

describe("application reproject", () => {
  test("adds purchases that the catalog maps by now, once", async () => {
    const { identifier, sell, store } = await anApplication();
    const coins = owned("c1", { productIdentifier: "coins", nature: "consumable", endsAt: null });
    await store({ purchases: [coins] }, "user-1");
    await store({ purchases: [owned("p1")] });
    await sell([{ store: "ios-store", productIdentifier: "coins", grants: ["premium"] }]);
    const read = async () =>
      (await run(["account", "show", identifier, "user-1", "--json"])).json()["entitlements"];
    expect(await read()).toEqual([]);
    const done = await run(["application", "reproject", identifier, "--json"]);
    expect(done.json()).toMatchObject({ customers: 2, changed: 1 });
    expect(JSON.parse(done.err.split("\n")[0] ?? "")).toEqual({
      progress: expect.stringMatching(
        /^2 customers, 1 changed; (?:about \d+ % of the table; )?if this is interrupted, go on with --after [0-9a-f-]{36}:\d+$/,
      ),
    });
    expect(await read()).toMatchObject([{ identifier: "premium", productIdentifier: "coins" }]);
    expect((await run(["application", "reproject", identifier, "--json"])).json()).toMatchObject({
      changed: 0,
    });
  });

  test("goes on after an interrupted run's position", async () => {
    const { identifier, store } = await anApplication();
    const ended = new Set<string>();
    for (let number = 0; number < 30; number += 1) {
      const customer = await store({ purchases: [owned(`r${number}`)] });
      ended.add(customer?.identifier ?? "");
    }
    const operations = createOperationTable(table, tellsIn(table));
    const all: CustomerId[] = [];
    for await (const { customers } of operations.customerPages(identifier, null)) all.push(...customers);
    expect(new Set<string>(all)).toEqual(ended);
    const [customer = customerId("")] = all.slice(9);
    const done = await run(["application", "reproject", identifier, "--after", `${customer}:40`, "--json"]);
    expect(done.json()).toMatchObject({ customers: 20 });
    expect(done.err).toMatch(/about \d+ % of the table; .*--after [0-9a-f-]{36}:\d+/);
    const scanned = Number(/:(\d+)"/.exec(done.err)?.[1]);
    expect(scanned).toBeGreaterThanOrEqual(60);
    const refused = await run(["application", "reproject", identifier, "--after", "somewhere"]);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("--after takes the position") });
  });

  test("recomputes customers side by side, and begins nothing new after a failure", async () => {
    const { identifier, store } = await anApplication([]);
    for (let number = 0; number < 60; number += 1) await store({ purchases: [owned(`s${number}`)] });
    const application = await createApplicationTable(table).load(identifier);
    if (application === null) throw new Error("no application");
    let [running, most, begun] = [0, 0, 0];
    let first = Promise.withResolvers<void>();
    const findOwnership = createFindOwnership(table, pause);
    const operations = operationsOn(table, {
      now: () => NOW,
      pause,
      waitForIndex: pause,
      newEntry: uuid,
      keyedHash,
    });
    const watched = (fails: boolean) => ({
      ...operations,
      findOwnership: async (...given: Parameters<typeof findOwnership>) => {
        [running, begun] = [running + 1, begun + 1];
        most = Math.max(most, running);
        // No customer ends before 25 have begun, however fast the database answers.
        if (begun === 25) first.resolve();
        await first.promise;
        const found = await findOwnership(...given);
        running -= 1;
        if (fails) throw new Error("broken");
        return found;
      },
    });
    const done = await reprojectApplication(watched(false), application, null, () => undefined);
    expect(done).toMatchObject({ customers: 60, changed: 0 });
    expect(most).toBe(25);
    [begun, first] = [0, Promise.withResolvers<void>()];
    await expect(reprojectApplication(watched(true), application, null, () => undefined)).rejects.toThrow(
      "broken",
    );
    expect(begun).toBe(25);
  });
});
