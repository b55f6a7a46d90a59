import type { ResolvedCustomer } from "../../../lib/customers/storing/store-facts.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  extended,
  owned,
  refusal,
  requests as requestsTo,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const requests = (act: () => Promise<unknown>): Promise<string[]> => requestsTo(table, act);

describe("round trips", () => {
  test("a replay is two reads and no write, and answers the same", async () => {
    const world = createWorld(table);
    const facts = { identities: [device("1")], purchases: [owned("1"), owned("2")] };
    const first = await world.store(facts, byCredential("a"));
    const before = await world.items();
    const again: (ResolvedCustomer | null)[] = [];
    const replay = async () => again.push(await world.at(NOW + DAY).store(facts, byCredential("a")));
    expect(await requests(replay)).toEqual(["BatchGetItem", "BatchGetItem"]);
    expect(again).toEqual([first]);
    expect(await world.items()).toEqual(before);
  });

  test("a first synchronize of 1,000 purchases is 12 reads, 11 transactions", async () => {
    const world = createWorld(table);
    const purchases = Array.from({ length: 1000 }, (_, index) =>
      owned(String(index), { nature: "non_consumable", endsAt: null }),
    );
    const facts = { identities: [device("1")], purchases };
    const sent = await requests(() => world.store(facts, byClient("a")));
    // One of the reads counts the account's claims.
    const reads = sent.filter((name) => name === "BatchGetItem").length;
    expect([reads, sent.filter((name) => name === "TransactWriteItems").length, sent.length]).toEqual([
      12, 11, 23,
    ]);
    const replay = await requests(() => world.store(facts, byClient("a")));
    expect(replay).toEqual(Array.from({ length: 12 }, () => "BatchGetItem"));
    expect(await requests(() => world.read("a"))).toEqual(["Query"]);
    expect((await world.read("a")).entitlements).toHaveLength(1);
    // The customer, its identity, its item in the account, the account's count of claims, and the purchases.
    expect((await world.items()).length).toBe(1004);
  });
});

describe("the owner of facts", () => {
  test("an unknown identity without a purchase creates nothing without a credential", async () => {
    const world = createWorld(table);
    const identities = [device("1")];
    expect(await requests(() => world.store({ identities }, byClient("a")))).toEqual(["BatchGetItem"]);
    expect(await world.store({ identities }, byClient("a"))).toBeNull();
    expect(await world.items()).toEqual([]);
  });

  test("a client's claim does not link a customer that had no purchase", async () => {
    const world = createWorld(table);
    const identities = [device("1")];
    const customer = await world.store({ identities }, byCredential("a"));
    await world.unlink(customer);
    const before = await world.items();
    expect(await world.store({ identities }, byClient("b"))).toEqual({ ...customer, link: null });
    expect(await world.items()).toEqual(before);
    await world.store({ identities, purchases: [owned("1")] }, byClient("b"));
    expect((await world.read("b")).customerIdentifiers).toEqual([customer?.identifier]);
  });

  test("Xcode's purchases of a request are one person's, without an app transaction id", async () => {
    const world = createWorld(table);
    const environment = "xcode";
    const purchases = ["1", "2"].map((key) => ({ ...owned(key), environment }) as const);
    const customer = await world.store({ environment, purchases, isChosenByClient: true });
    expect(customer?.holdings.map(({ key }) => key)).toEqual(["1", "2"]);
  });

  test("facts that name nobody cause no read and no write", async () => {
    const world = createWorld(table);
    expect(await requests(() => world.store({}, byCredential("a")))).toEqual([]);
    expect(await world.store({}, byCredential("a"))).toBeNull();
  });
});

test("in a merge the linked customer stays, with the other's holdings and identities", async () => {
  const world = createWorld(table);
  await world.store({ identities: [device("1")], purchases: [owned("1")] });
  const others = { identities: [device("2")], purchases: [owned("2")] };
  const linked = await world.at(NOW + 1).store(others, byCredential("a"));
  const sent = await requests(() => world.store({ identities: [device("1")], purchases: [owned("2")] }));
  expect(sent).toEqual(["BatchGetItem", "BatchGetItem", "TransactWriteItems"]);
  const through = await world.store({ identities: [device("1")] });
  expect(through?.identifier).toBe(linked?.identifier);
  expect(through?.holdings.map(({ key }) => key)).toEqual(["1", "2"]);
  await world.store({ purchases: [extended("1")] });
  expect(await world.read("a")).toMatchObject({
    customerIdentifiers: [linked?.identifier],
    entitlements: [{ expiresAt: isoTime(NOW + 90 * DAY), customerIdentifier: linked?.identifier }],
  });
});

describe("contention", () => {
  test("concurrent first requests of one person create one customer", async () => {
    const world = createWorld(table);
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        world.store({ identities: [device("1")], purchases: [owned("shared"), owned(String(index))] }),
      ),
    );
    expect(new Set(made.map((customer) => customer?.identifier)).size).toBe(1);
    expect((await world.store({ identities: [device("1")] }))?.holdings).toHaveLength(13);
  });

  test("exactly one of four accounts that claim one customer concurrently wins", async () => {
    const world = createWorld(table);
    const outcomes = await Promise.all(
      ["a", "b", "c", "d"].map((account) =>
        refusal(world.store({ purchases: [owned("1")] }, byCredential(account))),
      ),
    );
    expect(outcomes.sort()).toEqual([...Array(3).fill("CUSTOMER_ALREADY_LINKED"), "accepted"]);
  });
});
