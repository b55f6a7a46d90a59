import type { ResolvedCustomer } from "../../../lib/customers/storing/store-facts.ts";
import { mentionedPurchase } from "../../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { sourceOf } from "../../../lib/customers/storing/store-android-store-purchase.ts";
import {
  aCatalog,
  anAcknowledgement,
  aProduct,
  DAY,
  NOW,
  proven,
} from "../../../testing/support/stores/purchases.ts";
import { pendingIn } from "../../../testing/support/table/table.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  owned,
  refusal,
  requests as requestsTo,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const aWorld = (): World => createWorld(table);

const requests = (act: () => Promise<unknown>): Promise<string[]> => requestsTo(table, act);

describe("round trips", () => {
  test("a first link is one read and one transaction", async () => {
    const world = aWorld();
    const facts = { identities: [device("1")], purchases: [owned("1"), owned("2")] };
    expect(await requests(() => world.store(facts, byCredential("a")))).toEqual([
      "BatchGetItem",
      "TransactWriteItems",
    ]);
  });

  test("a replay is two reads and no write", async () => {
    const world = aWorld();
    const facts = { identities: [device("1")], purchases: [owned("1"), owned("2")] };
    const first = await world.store(facts, byCredential("a"));
    const before = await world.items();
    let again: ResolvedCustomer | null = null;
    expect(
      await requests(async () => {
        again = await world.at(NOW + DAY).store(facts, byCredential("a"));
      }),
    ).toEqual(["BatchGetItem", "BatchGetItem"]);
    expect(again).toEqual(first);
    expect(await world.items()).toEqual(before);
  });

  test("a first synchronize of 1,000 purchases is 12 reads, 11 transactions", async () => {
    const world = aWorld();
    const purchases = Array.from({ length: 1000 }, (_, index) =>
      owned(String(index), { nature: "non_consumable", endsAt: null }),
    );
    const facts = { identities: [device("1")], purchases };
    const sent = await requests(() => world.store(facts, byClient("a")));
    const count = (command: string) => sent.filter((name) => name === command).length;
    // One of the reads counts the account's claims.
    expect({ reads: count("BatchGetItem"), writes: count("TransactWriteItems"), all: sent.length }).toEqual({
      reads: 12,
      writes: 11,
      all: 23,
    });
    const replay = await requests(() => world.store(facts, byClient("a")));
    expect(replay).toEqual(Array.from({ length: 12 }, () => "BatchGetItem"));
    expect(await requests(() => world.read("a"))).toEqual(["Query"]);
    expect((await world.read("a")).entitlements).toHaveLength(1);
    // The customer, its identity, its item in the account, the account's count of claims, and the purchases.
    expect((await world.items()).length).toBe(1004);
  });
});

describe("the owner of facts", () => {
  test("unknown facts create a customer, and known facts find it", async () => {
    const world = aWorld();
    const made = await world.store({ purchases: [owned("1")] });
    expect(made?.identifier).toMatch(/^[0-9a-f-]{36}$/);
    expect(await world.store({ purchases: [owned("1")] })).toEqual(made);
    expect((await world.store({ purchases: [owned("1")], identities: [device("1")] }))?.identifier).toBe(
      made?.identifier,
    );
    expect((await world.store({ identities: [device("1")] }))?.identifier).toBe(made?.identifier);
  });
  test("an unknown identity without a purchase creates nothing without a credential", async () => {
    const world = aWorld();
    expect(await requests(() => world.store({ identities: [device("1")] }, byClient("a")))).toEqual([
      "BatchGetItem",
    ]);
    expect(await world.store({ identities: [device("1")] }, byClient("a"))).toBeNull();
    expect(await world.items()).toEqual([]);
  });

  test("a client's claim does not link a customer that had no purchase", async () => {
    const world = aWorld();
    const customer = await world.store({ identities: [device("1")] }, byCredential("a"));
    await world.unlink(customer);
    const before = await world.items();
    expect((await world.store({ identities: [device("1")] }, byClient("b")))?.identifier).toBe(
      customer?.identifier,
    );
    expect(await world.items()).toEqual(before);
    await world.store({ identities: [device("1")], purchases: [owned("1")] }, byClient("b"));
    expect((await world.read("b")).customerIdentifiers).toEqual([customer?.identifier]);
  });

  test("an unknown identity without a purchase makes a linked customer", async () => {
    const world = aWorld();
    const made = await world.store({ identities: [device("1")] }, byCredential("a"));
    expect((await world.read("a")).customerIdentifiers).toEqual([made?.identifier]);
  });

  test("facts that name nobody cause no read and no write", async () => {
    const world = aWorld();
    expect(await requests(() => world.store({}, byCredential("a")))).toEqual([]);
    expect(await world.store({}, byCredential("a"))).toBeNull();
  });
});

describe("never steal", () => {
  test("a client's link yields to a credential's at once", async () => {
    const world = aWorld();
    const made = await world.store({ purchases: [owned("1")] }, byClient("a"));
    await world.store({ purchases: [owned("1")] }, byCredential("b"));
    expect((await world.read("a")).customerIdentifiers).toEqual([]);
    expect((await world.read("b")).customerIdentifiers).toEqual([made?.identifier]);
    expect(await refusal(world.store({ purchases: [owned("1")] }, byClient("a")))).toBe(
      "CUSTOMER_ALREADY_LINKED",
    );
  });
});

describe("merging", () => {
  test("the linked customer stays, with the other's holdings and identities", async () => {
    const world = aWorld();
    const unlinked = await world.store({ identities: [device("1")], purchases: [owned("1")] });
    const linked = await world
      .at(NOW + 1)
      .store({ identities: [device("2")], purchases: [owned("2")] }, byCredential("a"));
    const sent = await requests(() => world.store({ identities: [device("1")], purchases: [owned("2")] }));
    expect(sent).toEqual(["BatchGetItem", "BatchGetItem", "TransactWriteItems"]);
    const through = await world.store({ identities: [device("1")] });
    expect(through?.identifier).toBe(linked?.identifier);
    expect(through?.identifier).not.toBe(unlinked?.identifier);
    expect(through?.holdings.map(({ key }) => key)).toEqual(["1", "2"]);
    expect((await world.read("a")).customerIdentifiers).toEqual([linked?.identifier]);
    const renewed = owned("1", { verifiedAt: NOW, endsAt: NOW + 99 * DAY });
    await world.store({ purchases: [renewed] });
    expect((await world.read("a")).entitlements[0]).toMatchObject({
      expiresAt: new Date(NOW + 99 * DAY).toISOString(),
      customerIdentifier: linked?.identifier,
    });
  });
});

describe("Android purchases", () => {
  const catalog = aCatalog([aProduct({ store: "android-store" })]);

  test("a replaced purchase names the customer and no longer grants anything", async () => {
    const world = aWorld().selling(catalog);
    const first = await world.store({ purchases: [android("1", NOW)] }, byCredential("a"));
    const replacing = [
      proven(android("2", NOW + 1, { endsAt: NOW + 50 * DAY }), {
        mentioned: [mentionedPurchase(android("1"), purchaseKey("2"))],
      }),
    ];
    const second = await world.store({ purchases: replacing });
    expect(second?.identifier).toBe(first?.identifier);
    expect(second?.holdings.map(({ key }) => key)).toEqual(["2"]);
  });

  test("an acknowledgement is queued once, and removed when the store reports it", async () => {
    const world = aWorld().selling(catalog);
    const purchase = android("1", NOW);
    const acknowledgementDue = anAcknowledgement(purchase);
    await world.store({ purchases: [purchase], acknowledgementDue }, byCredential("a"));
    const queued = async () =>
      (await pendingIn(table)).filter(({ application }) => application === world.application.identifier);
    const due = async () => (await world.items()).find(({ sk }) => sk === "PURCHASE")?.["acknowledgement"];
    expect(await due()).toEqual({ dueSince: NOW, deadline: NOW + 3 * DAY });
    expect(await queued()).toMatchObject([
      { acknowledgement: await due(), dueAt: NOW + 60_000, source: { purchaseToken: "the-token" } },
    ]);
    await world.at(NOW + 5).store({ purchases: [purchase], acknowledgementDue });
    expect(await queued()).toHaveLength(1);
    const origin = { source: sourceOf(acknowledgementDue, acknowledgementDue), canAsk: false, askedAt: null };
    await world.store({ purchases: [android("1", NOW + 1)], origin });
    expect(await due()).toBeUndefined();
    expect(await queued()).toEqual([]);
    expect(JSON.stringify(await world.items())).not.toContain("the-token");
  });
});

describe("contention", () => {
  test("concurrent first requests of one person create one customer", async () => {
    const world = aWorld();
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        world.store({ identities: [device("1")], purchases: [owned("shared"), owned(String(index))] }),
      ),
    );
    expect(new Set(made.map((customer) => customer?.identifier)).size).toBe(1);
    expect((await world.store({ identities: [device("1")] }))?.holdings).toHaveLength(13);
  });

  test("exactly one of four accounts that claim one customer concurrently wins", async () => {
    const world = aWorld();
    const outcomes = await Promise.all(
      ["a", "b", "c", "d"].map((account) =>
        refusal(world.store({ purchases: [owned("1")] }, byCredential(account))),
      ),
    );
    expect(outcomes.sort()).toEqual([
      "CUSTOMER_ALREADY_LINKED",
      "CUSTOMER_ALREADY_LINKED",
      "CUSTOMER_ALREADY_LINKED",
      "accepted",
    ]);
  });
});
