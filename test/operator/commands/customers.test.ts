import { v7 as uuid } from "uuid";
import { createOperationTable } from "../../../lib/table/customers/operations.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { tellsIn } from "../../../operator/session.ts";
import { aPurchase } from "../../../testing/support/stores/purchases.ts";
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
const MEANT = "--reason asked --by ada --yes";

const setUp = async () => {
  const application = await anApplication(given, []);
  const world = await application.world();
  return {
    ...application,
    application,
    world,
    store: async (...facts: Parameters<World["store"]>) => (await world.store(...facts))?.identifier ?? "",
    entitled: async (account: string) =>
      (await world.read(account)).entitlements.map(({ productIdentifier }) => productIdentifier),
  };
};

describe("customer show", () => {
  test("shows the link, the identities and every purchase, by an alias too", async () => {
    const { store, json, run } = await setUp();
    const first = await store({ identities: [device("d1")], purchases: [owned("p1")] }, byCredential("a"));
    const second = await store({ purchases: [owned("p2")] });
    await store({ identities: [device("d1")], purchases: [owned("p2")] });
    for (const customer of [first, second])
      expect(await json(`customer show APPLICATION ${customer}`)).toMatchObject({
        customerIdentifier: first,
        link: { account: "a", assertedBy: "credential" },
        aliases: [second],
        identities: [{ kind: "app-transaction", value: "d1" }],
        purchases: [{ key: "p1" }, { key: "p2" }],
      });
    expect((await run(`customer show APPLICATION ${first}`)).out).toContain("linked to account a");
  });

  test.each([
    ["show", ""],
    ["refresh", ""],
    ["unlink", ` ${MEANT}`],
    ["erase", ` ${MEANT}`],
  ])("and customer %s say that there is no such customer", async (command, more) => {
    const { run } = await setUp();
    const { code, err } = await run(`customer ${command} APPLICATION ${uuid()}${more}`);
    expect([code, err]).toEqual([1, expect.stringMatching(/^There is no customer .* in Trails\.\n$/)]);
  });
});

describe("customer unlink", () => {
  test("does nothing without --yes or a confirmation, and says what it would", async () => {
    const { run, itemsOf, store } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, byCredential("a"));
    const before = await itemsOf("");
    const answering = (answer: boolean | null) =>
      run(`customer unlink APPLICATION ${customer} --reason r`, {
        ask: answer === null ? null : () => Promise.resolve(answer),
      });
    expect(await answering(null)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/takes customer .* \(1 purchase\) away from account a.*add --yes/),
    });
    expect((await answering(false)).err).toContain("Nothing was changed.");
    expect(await itemsOf("")).toEqual(before);
    expect((await answering(true)).code).toBe(0);
    expect(await itemsOf("")).not.toEqual(before);
  });

  test.each<[string, string | null, string | null]>([
    ["frees a customer for another account", "a", null],
    ["moves a customer in one step", "a", "b"],
    ["moves a customer without an account", null, "b"],
    ["does nothing to a customer without an account", null, null],
  ])("%s", async (_, from, to) => {
    const { world, store, json, entitled } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, from === null ? null : byCredential(from));
    const moved = to === null ? "" : ` --to ${to}`;
    expect(await json(`customer unlink APPLICATION ${customer}${moved} ${MEANT}`)).toEqual({
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
    const { world, store, run, json } = await setUp();
    const bought = await store({ purchases: [owned("p1")] }, byCredential("a"));
    await store({ identities: [device("d1")] }, byCredential("b"));
    const both = { identities: [device("d1")], purchases: [owned("p1")] };
    expect(await refusal(world.store(both, byCredential("b")))).toBe("IDENTITY_CONFLICT");
    const accountOf = async (name: string) => (await json(`customer find APPLICATION ${name}`))["customers"];
    expect(await accountOf("p1")).toMatchObject([{ customerIdentifier: bought, link: { account: "a" } }]);
    expect(await accountOf("d1")).toMatchObject([{ link: { account: "b" } }]);
    await run(`customer unlink APPLICATION ${bought} --to b ${MEANT}`);
    expect((await world.store(both, byCredential("b")))?.holdings.map(({ key }) => key)).toEqual(["p1"]);
    expect(await accountOf("p1")).toEqual(await accountOf("d1"));
  });
});

describe("account unlink --asserted-by client", () => {
  test("unlinks what clients claimed, and nothing that a credential linked", async () => {
    const { world, store, json, run } = await setUp();
    const claimed = await store({ purchases: [owned("p1")] }, byClient("a"));
    const linked = await store({ purchases: [owned("p2")] }, byCredential("a"));
    const unlink = "account unlink APPLICATION a --asserted-by";
    expect((await run(`${unlink} credential ${MEANT}`)).code).toBe(1);
    expect(await json(`${unlink} client ${MEANT}`)).toEqual({
      applicationAccountIdentifier: "a",
      unlinkedCustomers: [claimed],
    });
    expect((await world.read("a")).customerIdentifiers).toEqual([linked]);
  });

  test("leaves a customer that a credential confirms while the operator is asked", async () => {
    const { world, store, run } = await setUp();
    const customer = await store({ purchases: [owned("p1")] }, byClient("a"));
    const ask = async () => (await store({ purchases: [owned("p1")] }, byCredential("a"))) !== "";
    await run("account unlink APPLICATION a --asserted-by client --reason r", { ask });
    expect((await world.read("a")).customerIdentifiers).toEqual([customer]);
  });
});

describe("customer find", () => {
  test("finds a purchase's owner by each of its names, and repeats none", async () => {
    const { store, run, json } = await setUp();
    const ofToken = aPurchase({ store: "android-store", key: purchaseKeyOfToken("token.of-a-purchase/x") });
    const facts = { identities: [device("704")], purchases: [owned("700"), ofToken] };
    const holder = await store(facts, byCredential("a"));
    for (const name of ["700", "704", "token.of-a-purchase/x", ofToken.key])
      expect(await json(`customer find APPLICATION ${name}`)).toMatchObject({
        customers: [{ customerIdentifier: holder, link: { account: "a" } }],
      });
    const absent = await run(`customer find APPLICATION secret-${"x".repeat(4000)}`);
    expect(absent).toMatchObject({ code: 1, err: expect.stringMatching(/^Trails has no customer with/) });
    expect(absent.err).not.toContain("secret");
    await run(`customer erase APPLICATION ${holder} ${MEANT}`);
    expect((await run("customer find APPLICATION 700")).err).toContain("was erased");
  });

  test("finds a customer whose erasure is unfinished, and any other owner too", async () => {
    const { world, store, run, json } = await setUp();
    const ended = await world.store({ purchases: [owned("700")] }, byCredential("a"));
    const sandbox = aPurchase({ key: "700", environment: "sandbox" });
    const living = await store({ purchases: [sandbox] }, byCredential("b"));
    await world.beginErasure(ended);
    expect(await json("customer find APPLICATION 700")).toMatchObject({
      customers: [{ customerIdentifier: living }],
      gone: [ended?.identifier],
    });
    expect((await run("customer find APPLICATION 700")).out).toContain("whose erasure was interrupted");
  });
});

describe("an erasure", () => {
  test("of a customer with many purchases leaves tombstones alone", async () => {
    const { itemsOf, world, store, json } = await setUp();
    const purchases = Array.from({ length: 120 }, (_, index) => owned(`p${index}`));
    const customer = await store({ identities: [device("d1")], purchases }, byCredential("a"));
    await store({ purchases: [owned("q1")] });
    await store({ identities: [device("d1")], purchases: [owned("q1")] });
    expect(await json(`customer erase APPLICATION ${customer} ${MEANT}`)).toMatchObject({
      erased: { purchases: 121, identities: 1, aliases: 1 },
    });
    const left = (await itemsOf("")).filter(
      ({ sk, pk }) =>
        ["CUSTOMER", "PURCHASE", "IDENTITY"].includes(String(sk)) || String(pk).includes("#ACCOUNT#"),
    );
    expect(left).toHaveLength(122);
    for (const item of left)
      expect(Object.keys(item).sort()).toEqual(["erasedUntil", "pk", "sk", "timeToLive"]);
    expect(await refusal(world.store({ purchases: [owned("q1")] }, byClient("a")))).toBe(
      "CUSTOMER_NOT_FOUND",
    );
  });

  test("of an account erases each customer and shows its progress", async () => {
    const { world, store, run } = await setUp();
    const erase = `account erase APPLICATION a ${MEANT}`;
    const customers = [
      await store({ purchases: [owned("p1")] }, byCredential("a")),
      await store({ purchases: [owned("p2")] }, byCredential("a")),
    ];
    const done = await run(`${erase} --json`);
    expect(done.json()["erasedCustomers"]).toHaveLength(2);
    expect(done.err).toContain("erased 2 of 2 customers");
    for (const customer of customers) expect(done.err).toContain(`erasing customer ${customer}`);
    expect(await refusal(world.store({ purchases: [owned("p2")] }))).toBe("CUSTOMER_NOT_FOUND");
    expect((await run(erase)).out).toContain("No customer");
  });
});

test("an export holds everything known of an account and nothing of another", async () => {
  const { identifier, store, run } = await setUp();
  await store({ identities: [device("d1")], purchases: [owned("p1")] }, byCredential("a"));
  await store({ purchases: [owned("x1")] }, byCredential("b"));
  const exported = await run("account export APPLICATION a --by ada");
  expect(exported.json()).toMatchObject({
    applicationAccountIdentifier: "a",
    customers: [{ purchases: [{ key: "p1" }], identities: [{ value: "d1" }] }],
    entitlements: [{ identifier: "premium" }],
    audit: [{ action: "export", by: "ada" }],
  });
  // Nor the operator's AWS identity.
  expect(exported.out).not.toMatch(/x1|"caller"/);
  expect((await run("application list")).out).toContain(`${identifier}  Trails\n`);
});

test("account show lists an account's purchases in pages", async () => {
  const { store, run, json } = await setUp();
  await store({ purchases: [owned("p1"), owned("p2")] }, byCredential("a"));
  const show = "account show APPLICATION a";
  const second = await run(`${show} --page 2 --per-page 1`);
  expect(second.out).toContain("Purchases 2 to 2 of 2");
  expect(second.out).toMatch(/purchase p[12]/);
  expect((await run(`${show} --page 0`)).err).toContain("--page must be a number from 1 on.");
  expect(await json(show)).toMatchObject({ purchases: 2, pages: 1 });
  expect(await json(`${show} --per-page 1`)).toMatchObject({ purchases: 2, pages: 2 });
  expect((await run("account show APPLICATION nobody")).out).toContain("No customer is linked to it.");
});

describe("application reproject", () => {
  test("adds purchases that the catalog maps by now, once", async () => {
    const { application, store, run, json, entitled } = await setUp();
    const coins = owned("c1", { productIdentifier: "coins", nature: "consumable", endsAt: null });
    await store({ purchases: [coins] }, byCredential("a"));
    await store({ purchases: [owned("p1")] });
    const products = [...PRODUCTS, { store: "ios-store", productIdentifier: "coins", grants: ["premium"] }];
    await application.configure([], { products });
    expect(await entitled("a")).toEqual([]);
    const done = await run("application reproject APPLICATION --json");
    expect(done.json()).toMatchObject({ customers: 2, changed: 1 });
    expect(done.err).toMatch(/2 customers, 1 changed; if this is interrupted, go on with --after [\w-]+/);
    expect((await (await application.world()).read("a")).entitlements).toMatchObject([
      { productIdentifier: "coins" },
    ]);
    expect(await json("application reproject APPLICATION")).toMatchObject({ changed: 0 });
  });

  test("goes on after an interrupted run's position", async () => {
    const { identifier, store, run } = await setUp();
    for (let number = 0; number < 30; number += 1) await store({ purchases: [owned(`r${number}`)] });
    const all: string[] = [];
    const { customerPages } = createOperationTable(given.table, tellsIn(given.table));
    for await (const { customers } of customerPages(identifier, null)) all.push(...customers);
    const after = (position = "") => run(`application reproject APPLICATION --after ${position} --json`);
    const done = await after(all[9]);
    expect(done.json()).toMatchObject({ customers: 20 });
    expect(done.err).toContain(`--after ${all.at(-1)}`);
    expect(await after("somewhere")).toMatchObject(refusedWith("--after takes the position"));
  });
});
