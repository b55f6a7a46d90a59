import { v7 as uuid } from "uuid";
import { createOperationTable } from "../../../lib/table/customers/operations.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { tellsIn } from "../../../operator/composition.ts";
import { aPurchase, NOW } from "../../../testing/support/stores/purchases.ts";
import {
  byClient,
  byCredential,
  device,
  owned,
  refusal,
  type World,
} from "../../../testing/support/world.ts";
import { anApplication, PRODUCTS, withOperator } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();
const meant = ["--reason", "asked by the person", "--by", "ada", "--yes"];

const setUp = async () => {
  const application = await anApplication(given, []);
  const { identifier } = application;
  const world = await application.world();
  const run = (...words: readonly string[]) => given.operator.run(words);
  return {
    application,
    identifier,
    world,
    run,
    store: async (...facts: Parameters<World["store"]>) => (await world.store(...facts))?.identifier ?? "",
    json: async (...words: readonly string[]) => (await run(...words, "--json")).json(),
    entitled: async (account: string) =>
      (await world.read(account)).entitlements.map(({ productIdentifier }) => productIdentifier),
  };
};

describe("customer show", () => {
  test("shows the link, the identities and every purchase, by an alias too", async () => {
    const { identifier, store, json, run } = await setUp();
    const first = await store({ identities: [device("d1")], purchases: [owned("p1")] }, byCredential("a"));
    const second = await store({ purchases: [owned("p2")] });
    await store({ identities: [device("d1")], purchases: [owned("p2")] });
    for (const customer of [first, second])
      expect(await json("customer", "show", identifier, customer)).toMatchObject({
        customerIdentifier: first,
        link: { account: "a", assertedBy: "credential" },
        aliases: [second],
        identities: [{ kind: "app-transaction", value: "d1" }],
        purchases: [{ key: "p1" }, { key: "p2" }],
      });
    expect((await run("customer", "show", identifier, first)).out).toContain("linked to account a");
  });

  test.each([["show"], ["refresh"], ["unlink", ...meant], ["erase", ...meant]])(
    "and customer %s say that there is no such customer",
    async (command, ...options) => {
      const { identifier, run } = await setUp();
      const { code, err } = await run("customer", command, identifier, uuid(), ...options);
      expect([code, err]).toEqual([1, expect.stringMatching(/^There is no customer .* in Trails\.\n$/)]);
    },
  );
});

describe("customer unlink", () => {
  test("does nothing without --yes or a confirmation, and says what it would", async () => {
    const { application, identifier, store } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, byCredential("a"));
    const before = await application.itemsOf("");
    const words = ["customer", "unlink", identifier, customer, "--reason", "r"];
    const answering = (answer: boolean | null) =>
      given.operator.run(words, {}, NOW, answer === null ? null : () => Promise.resolve(answer));
    expect(await answering(null)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/takes customer .* \(1 purchase\) away from account a.*add --yes/),
    });
    expect((await answering(false)).err).toContain("Nothing was done.");
    expect(await application.itemsOf("")).toEqual(before);
    expect((await answering(true)).code).toBe(0);
    expect(await application.itemsOf("")).not.toEqual(before);
  });

  test.each<[string, string | null, string | null]>([
    ["frees a customer for another account", "a", null],
    ["moves a customer in one step", "a", "b"],
    ["moves a customer without an account", null, "b"],
    ["does nothing to a customer without an account", null, null],
  ])("%s", async (_, from, to) => {
    const { identifier, world, store, json, entitled } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, from === null ? null : byCredential(from));
    const words = [identifier, customer, ...(to === null ? [] : ["--to", to]), ...meant];
    expect(await json("customer", "unlink", ...words)).toEqual({
      customerIdentifier: customer,
      unlinkedFrom: from,
      linkedTo: to,
    });
    expect(await entitled("a")).toEqual([]);
    expect(await store({ purchases: [owned("p1")] }, byCredential("b"))).toBe(customer);
    const back = world.store({ purchases: [owned("p1")] }, byCredential("a"));
    expect(await refusal(back)).toBe("CUSTOMER_ALREADY_LINKED");
  });

  test("ends an IDENTITY_CONFLICT by a move to the other's account", async () => {
    const { identifier, world, store, run, json } = await setUp();
    const bought = await store({ purchases: [owned("p1")] }, byCredential("a"));
    await store({ identities: [device("d1")] }, byCredential("b"));
    const both = { identities: [device("d1")], purchases: [owned("p1")] };
    expect(await refusal(world.store(both, byCredential("b")))).toBe("IDENTITY_CONFLICT");
    const accountOf = async (name: string) => (await json("customer", "find", identifier, name))["customers"];
    expect(await accountOf("p1")).toMatchObject([{ customerIdentifier: bought, link: { account: "a" } }]);
    expect(await accountOf("d1")).toMatchObject([{ link: { account: "b" } }]);
    await run("customer", "unlink", identifier, bought, "--to", "b", ...meant);
    expect((await world.store(both, byCredential("b")))?.holdings.map(({ key }) => key)).toEqual(["p1"]);
    expect(await accountOf("p1")).toEqual(await accountOf("d1"));
  });
});

describe("account unlink --asserted-by client", () => {
  test("unlinks what clients claimed, and nothing that a credential linked", async () => {
    const { identifier, world, store, json, run } = await setUp();
    const claimed = await store({ purchases: [owned("p1")] }, byClient("a"));
    const linked = await store({ purchases: [owned("p2")] }, byCredential("a"));
    const words = ["account", "unlink", identifier, "a", "--asserted-by"];
    expect((await run(...words, "credential", ...meant)).code).toBe(1);
    expect(await json(...words, "client", ...meant)).toEqual({
      applicationAccountIdentifier: "a",
      unlinkedCustomers: [claimed],
    });
    expect((await world.read("a")).customerIdentifiers).toEqual([linked]);
  });

  test("leaves a customer that a credential confirms while the operator is asked", async () => {
    const { identifier, world, store } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, byClient("a"));
    const words = ["account", "unlink", identifier, "a", "--asserted-by", "client", "--reason", "r"];
    const confirmed = async () => (await store({ purchases: [owned("p1")] }, byCredential("a"))) !== "";
    await given.operator.run(words, {}, NOW, confirmed);
    expect((await world.read("a")).customerIdentifiers).toEqual([customer]);
  });
});

describe("customer find", () => {
  test("finds a purchase's owner by each of its names, and repeats none", async () => {
    const { identifier, store, run, json } = await setUp();
    const ofToken = aPurchase({ store: "android-store", key: purchaseKeyOfToken("token.of-a-purchase/x") });
    const facts = { identities: [device("704")], purchases: [owned("700"), ofToken] };
    const holder = await store(facts, byCredential("a"));
    for (const name of ["700", "704", "token.of-a-purchase/x", ofToken.key])
      expect(await json("customer", "find", identifier, name)).toMatchObject({
        customers: [{ customerIdentifier: holder, link: { account: "a" } }],
      });
    const absent = await run("customer", "find", identifier, `secret-${"x".repeat(4000)}`);
    expect(absent).toMatchObject({ code: 1, err: expect.stringMatching(/^Trails has no customer with/) });
    expect(absent.err).not.toContain("secret");
    await run("customer", "erase", identifier, holder, ...meant);
    expect((await run("customer", "find", identifier, "700")).err).toContain("was erased");
  });

  test("finds a customer whose erasure is unfinished, and any other owner too", async () => {
    const { identifier, world, store, run, json } = await setUp();
    const ended = await world.store({ purchases: [owned("700")] }, byCredential("a"));
    const sandbox = aPurchase({ key: "700", environment: "sandbox" });
    const living = await store({ purchases: [sandbox] }, byCredential("b"));
    await world.beginErasure(ended);
    expect(await json("customer", "find", identifier, "700")).toMatchObject({
      customers: [{ customerIdentifier: living }],
      gone: [ended?.identifier],
    });
    expect((await run("customer", "find", identifier, "700")).out).toContain("whose erasure was interrupted");
  });
});

describe("an erasure", () => {
  test("of a customer with many purchases leaves tombstones alone", async () => {
    const { application, identifier, world, store, json } = await setUp();
    const purchases = Array.from({ length: 120 }, (_, index) => owned(`p${index}`));
    const customer = await store({ identities: [device("d1")], purchases }, byCredential("a"));
    await store({ purchases: [owned("q1")] });
    await store({ identities: [device("d1")], purchases: [owned("q1")] });
    expect(await json("customer", "erase", identifier, customer, ...meant)).toMatchObject({
      erased: { purchases: 121, identities: 1, aliases: 1 },
    });
    const left = (await application.itemsOf("")).filter(
      ({ sk, pk }) =>
        ["CUSTOMER", "PURCHASE", "IDENTITY"].includes(String(sk)) || String(pk).includes("#ACCOUNT#"),
    );
    expect(left).toHaveLength(122);
    for (const item of left)
      expect(Object.keys(item).sort()).toEqual(["erasedUntil", "expiresAt", "pk", "sk"]);
    expect(await refusal(world.store({ purchases: [owned("q1")] }, byClient("a")))).toBe(
      "CUSTOMER_NOT_FOUND",
    );
  });

  test("is completed by the same command, which says when nothing is left", async () => {
    const { identifier, world, run, json } = await setUp();
    const customer = await world.store({ purchases: [owned("p1")] }, byCredential("a"));
    await world.beginErasure(customer);
    const words = ["customer", "erase", identifier, customer?.identifier ?? "", ...meant];
    expect(await json(...words)).toMatchObject({ erased: { purchases: 1, identities: 0 } });
    expect((await run(...words)).code).toBe(1);
  });

  test("of an account erases each customer and shows its progress", async () => {
    const { identifier, world, store, run } = await setUp();
    const customers = [
      await store({ purchases: [owned("p1")] }, byCredential("a")),
      await store({ purchases: [owned("p2")] }, byCredential("a")),
    ];
    const done = await run("account", "erase", identifier, "a", ...meant, "--json");
    expect(done.json()["erasedCustomers"]).toHaveLength(2);
    expect(done.err).toContain("erased 2 of 2 customers");
    for (const customer of customers) expect(done.err).toContain(`erasing customer ${customer}`);
    expect(await refusal(world.store({ purchases: [owned("p2")] }))).toBe("CUSTOMER_NOT_FOUND");
    expect((await run("account", "erase", identifier, "a", ...meant)).out).toContain("No customer");
  });
});

test("an export holds everything known of an account and nothing of another", async () => {
  const { identifier, store, run } = await setUp();
  await store({ identities: [device("d1")], purchases: [owned("p1")] }, byCredential("a"));
  await store({ purchases: [owned("x1")] }, byCredential("b"));
  const exported = await given.operator.run(["account", "export", identifier, "a", "--by", "ada"]);
  expect(exported.json()).toMatchObject({
    applicationAccountIdentifier: "a",
    customers: [{ purchases: [{ key: "p1" }], identities: [{ value: "d1" }] }],
    entitlements: [{ identifier: "premium" }],
    audit: [{ action: "export", by: "ada" }],
  });
  // Nor the operator's AWS identity.
  expect(exported.out).not.toMatch(/x1|"caller"/);
  expect((await run("application", "list")).out).toContain(`${identifier}  Trails\n`);
});

test("account show lists an account's purchases in pages", async () => {
  const { identifier, store, run, json } = await setUp();
  await store({ purchases: [owned("p1"), owned("p2")] }, byCredential("a"));
  const words = ["account", "show", identifier, "a"];
  const second = await run(...words, "--page", "2", "--per-page", "1");
  expect(second.out).toContain("Purchases 2 to 2 of 2");
  expect(second.out).toMatch(/purchase p[12]/);
  expect((await run(...words, "--page", "0")).err).toContain("--page must be a number from 1 on.");
  expect(await json(...words)).toMatchObject({ purchases: 2, pages: 1 });
  expect(await json(...words, "--per-page", "1")).toMatchObject({ purchases: 2, pages: 2 });
  expect((await run("account", "show", identifier, "nobody")).out).toContain("No customer is linked to it.");
});

describe("application reproject", () => {
  test("adds purchases that the catalog maps by now, once", async () => {
    const { application, identifier, store, run, json, entitled } = await setUp();
    const coins = owned("c1", { productIdentifier: "coins", nature: "consumable", endsAt: null });
    await store({ purchases: [coins] }, byCredential("a"));
    await store({ purchases: [owned("p1")] });
    const products = [...PRODUCTS, { store: "ios-store", productIdentifier: "coins", grants: ["premium"] }];
    await application.configure([], { products });
    expect(await entitled("a")).toEqual([]);
    const done = await run("application", "reproject", identifier, "--json");
    expect(done.json()).toMatchObject({ customers: 2, changed: 1 });
    expect(done.err).toMatch(/2 customers, 1 changed; if this is interrupted, go on with --after [\w-]+/);
    expect((await (await application.world()).read("a")).entitlements).toMatchObject([
      { productIdentifier: "coins" },
    ]);
    expect(await json("application", "reproject", identifier)).toMatchObject({ changed: 0 });
  });

  test("goes on after an interrupted run's position", async () => {
    const { identifier, store, run } = await setUp();
    for (let number = 0; number < 30; number += 1) await store({ purchases: [owned(`r${number}`)] });
    const all: string[] = [];
    const { customerPages } = createOperationTable(given.table, tellsIn(given.table));
    for await (const { customers } of customerPages(identifier, null)) all.push(...customers);
    const after = (position = "") =>
      run("application", "reproject", identifier, "--after", position, "--json");
    const done = await after(all[9]);
    expect(done.json()).toMatchObject({ customers: 20 });
    expect(done.err).toContain(`--after ${all.at(-1)}`);
    expect(await after("somewhere")).toMatchObject(refusedWith("--after takes the position"));
  });
});
