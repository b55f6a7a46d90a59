import { eraseCustomer } from "../../lib/customers/operations.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { createOperationTable } from "../../lib/table/operations.ts";
import { findOwnership } from "../../lib/table/ownership.ts";
import { assertInvariants } from "../support/invariants.ts";
import { NOW, proven } from "../support/purchases.ts";
import { createTestTable, type TestTable } from "../support/table.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  meetingAWriteAt,
  owned,
  refunded,
  refusal,
  replacing,
  type GivenEvidence,
} from "./world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

/** A customer of account a, with an app transaction id and two purchases, who was erased. */
const erased = async () => {
  const world = createWorld(table);
  const customer = await world.store(
    { identities: [device("1")], purchases: [owned("1"), owned("2")] },
    byCredential("a"),
  );
  await world.erase(customer);
  return { world, customer };
};

const REPLAYS: [string, GivenEvidence][] = [
  ["a purchase", { purchases: [owned("1")] }],
  ["the app transaction", { identities: [device("1")] }],
  ["a purchase beside a new one", { purchases: [owned("1"), owned("9")] }],
  ["what replaced a purchase", { purchases: [replacing(owned("9"), owned("1"))] }],
];

describe("after an erasure the app alone", () => {
  test.each(REPLAYS)("is told that there is no customer: %s", async (_, evidence) => {
    const { world } = await erased();
    const before = await world.items();
    for (const claim of [null, byClient("a"), byClient("b")])
      expect(await refusal(world.store(evidence, claim))).toBe("CUSTOMER_NOT_FOUND");
    expect(await world.items()).toEqual(before);
  });
});

describe("after an erasure a link with a credential", () => {
  test.each(REPLAYS)("makes somebody new: %s", async (_, evidence) => {
    const { world, customer } = await erased();
    const made = await world.store(evidence, byCredential("b"));
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect((await world.read("b")).customerIdentifiers).toEqual([made?.identifier]);
    expect((await world.read("a")).customerIdentifiers).toEqual([]);
  });
  test("counts only what it brings", async () => {
    const { world } = await erased();
    const made = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    expect(made?.holdings.map(({ key }) => key)).toEqual(["1"]);
    expect((await world.read("a")).entitlements).toHaveLength(1);
  });
  test("lets the app work again, with what it brought and nothing else", async () => {
    const { world } = await erased();
    const brought = { identities: [device("1")], purchases: [owned("1")] };
    const made = await world.store(brought, byCredential("a"));
    expect(await world.store(brought, byClient("a"))).toEqual(made);
    expect(await refusal(world.store({ purchases: [owned("2")] }, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
  test("joins nothing that was known before", async () => {
    const world = createWorld(table);
    const customer = await world.store({ purchases: [refunded("1")] }, byCredential("a"));
    await world.erase(customer);
    await world.at(NOW + 1).store({ purchases: [owned("1")] }, byCredential("a"));
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("takes what was erased into a customer who lives", async () => {
    const { world } = await erased();
    const living = await world.store({ purchases: [android("3")] }, byCredential("b"));
    const made = await world.store({ purchases: [owned("1"), android("3")] }, byCredential("b"));
    expect(made?.identifier).toBe(living?.identifier);
  });
});

describe("once a credential has linked the app transaction id of a person who was erased, the app alone", () => {
  const linkedAgain = async () => {
    const { world } = await erased();
    const made = await world.store({ identities: [device("1")] }, byCredential("a"));
    return { world, made };
  };
  const named = proven(owned("2"), { identity: device("1") });
  test("brings what that very id's transactions prove", async () => {
    const { world, made } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await world.store(shown, byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("brings nothing that does not name the id", async () => {
    const { world } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [owned("2")] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
  test("brings nothing for whom a client alone has claimed", async () => {
    const world = createWorld(table);
    await world.erase(await world.store({ purchases: [owned("2")] }, byCredential("a")));
    await world.store({ identities: [device("1")], purchases: [owned("3")] }, byClient("a"));
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

describe("an erasure that broke off after its first step", () => {
  /** Two customers who were merged, of whom the living one was ended and nothing buried. */
  const brokenOff = async () => {
    const world = createWorld(table);
    const { identifier: application } = world.application;
    const both = [
      await world.store({ purchases: [owned("1")] }, byCredential("a")),
      await world.store({ purchases: [owned("2")] }, byCredential("a")),
    ];
    const one = await world.store({ purchases: [owned("1"), owned("2")] });
    const named = one?.identifier ?? customerId("");
    const found = await world.evidenceStore.table.findCustomers(application, [named]);
    const living = found.living.get(named);
    if (living === undefined) throw new Error("Nobody is there.");
    const entry = {
      action: "erase",
      customer: living.identifier,
      moment: NOW,
      by: "ada",
      reason: "r",
    } as const;
    await createOperationTable(table).end(application, living, entry, "1");
    return { world, both };
  };
  test.each([0, 1])(
    "is completed under either of the names that a merged customer had (%s)",
    async (which) => {
      const { world, both } = await brokenOff();
      await world.erase(both[which] ?? null);
      const left = (await world.items()).filter(({ sk }) => !String(sk).startsWith("2"));
      expect(left.filter((item) => !("erasedUntil" in item))).toEqual([]);
      expect(await world.store({ purchases: [owned("1")] }, byCredential("a"))).not.toBeNull();
    },
  );
});

test("an eraser who comes late buries nothing of a person who has signed up again", async () => {
  const world = createWorld(table);
  const { identifier: application } = world.application;
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const owned1 = await findOwnership(table, application, customer?.identifier ?? customerId(""), () =>
    Promise.resolve(),
  );
  await world.erase(customer);
  const again = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await createOperationTable(table).bury(application, owned1, NOW + 1_000_000);
  expect(await world.store({ purchases: [owned("1")] }, byClient("a"))).toMatchObject({
    identifier: again?.identifier,
  });
});

test("an account's erasure leaves a customer who has left the account since", async () => {
  const world = createWorld(table);
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.unlink(customer, "b");
  const { operations, application } = world;
  const erasure = eraseCustomer(
    operations,
    application.identifier,
    customer?.identifier ?? customerId(""),
    { by: "ada", reason: "r" },
    () => undefined,
    { account: accountId("a") },
  );
  expect(await erasure).toBeNull();
  expect((await world.read("b")).entitlements).toMatchObject([{ active: true }]);
});

describe("a link that is refused lifts no erasure", () => {
  test("of a purchase, nor of an app transaction id, though the facts of others are kept", async () => {
    const { world } = await erased();
    await world.store({ purchases: [owned("3")] }, byCredential("b"));
    const shown = {
      identities: [device("1")],
      purchases: [owned("1"), refunded("3")],
    };
    expect(await world.submit(shown, byCredential("c"))).toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
    expect((await world.read("b")).entitlements).toMatchObject([{ status: "revoked" }]);
    for (const [, evidence] of REPLAYS.slice(0, 2))
      expect(await refusal(world.store(evidence, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

test("an erasure that meets another write leaves nothing in the account of those who were merged before", async () => {
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.store({ purchases: [owned("2")] }, byCredential("a"));
  const one = await world.store({ purchases: [owned("1"), owned("2")] });
  await meetingAWriteAt(table, 0, () => world.erase(one));
  expect((await world.read("a")).customerIdentifiers).toEqual([]);
});
