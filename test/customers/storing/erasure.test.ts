import type { FactsOrigin } from "../../../lib/customers/asking/ask.ts";
import { DAY, NOW, proven } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { fromApple, queuedOf } from "../refreshing.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  type GivenFacts,
  meetingAWriteAt,
  owned,
  refunded,
  refusal,
  replacing,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

/** An erased customer of account a, who had an app transaction id and two purchases. */
const erased = async () => {
  const world = createWorld(table);
  const customer = await world.store(
    { identities: [device("1")], purchases: [owned("1"), owned("2")] },
    byCredential("a"),
  );
  await world.erase(customer);
  return { world, customer };
};

const REPLAYS: [string, GivenFacts][] = [
  ["a purchase", { purchases: [owned("1")] }],
  ["the app transaction", { identities: [device("1")] }],
  ["a purchase beside a new one", { purchases: [owned("1"), owned("9")] }],
  ["a replacement of a purchase", { purchases: [replacing(owned("9"), owned("1"))] }],
];

describe("after an erasure, a request without a credential", () => {
  test.each(REPLAYS)("is refused with CUSTOMER_NOT_FOUND: %s", async (_, facts) => {
    const { world } = await erased();
    const before = await world.items();
    for (const claim of [null, byClient("a"), byClient("b")])
      expect(await refusal(world.store(facts, claim))).toBe("CUSTOMER_NOT_FOUND");
    expect(await world.items()).toEqual(before);
  });
});

describe("after an erasure, a link with a credential", () => {
  test.each(REPLAYS)("creates a new customer: %s", async (_, facts) => {
    const { world, customer } = await erased();
    const made = await world.store(facts, byCredential("b"));
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect((await world.read("b")).customerIdentifiers).toEqual([made?.identifier]);
    expect((await world.read("a")).customerIdentifiers).toEqual([]);
  });

  test("lets the app store what the link brought, and nothing else", async () => {
    const { world } = await erased();
    const brought = { identities: [device("1")], purchases: [owned("1")] };
    const made = await world.store(brought, byCredential("a"));
    expect(await world.store(brought, byClient("a"))).toEqual(made);
    expect(await refusal(world.store({ purchases: [owned("2")] }, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

describe("after the link of an erased app transaction id, without credential", () => {
  const linkedAgain = async () => {
    const { world } = await erased();
    const made = await world.store({ identities: [device("1")] }, byCredential("a"));
    return { world, made };
  };
  const named = proven(owned("2"), { identity: device("1") });
  test("stores purchases whose transactions name that id", async () => {
    const { world, made } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await world.store(shown, byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });

  test("stores them beside another person's purchase too", async () => {
    const { world, made } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [named, owned("9")], isChosenByClient: true };
    expect(await world.store(shown, byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.store({ purchases: [owned("2")] }))?.identifier).toBe(made?.identifier);
    expect((await world.store({ purchases: [owned("9")] }))?.identifier).not.toBe(made?.identifier);
  });

  test("is refused when only a client has linked that id", async () => {
    const world = createWorld(table);
    await world.erase(await world.store({ purchases: [owned("2")] }, byCredential("a")));
    await world.store({ identities: [device("1")], purchases: [owned("3")] }, byClient("a"));
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });

  test("is refused for purchases that do not name that id", async () => {
    const { world } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [owned("2")] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

test("an erasure leaves nothing that names the account", async () => {
  const world = createWorld(table);
  const account = "jane.doe@example.com";
  await world.store({ purchases: [owned("1")] }, byClient(account));
  await world.store({ purchases: [owned("1"), owned("2")] }, byClient(account));
  const customer = await world.store({ purchases: [owned("1")] }, byCredential(account));
  await world.erase(customer);
  expect(JSON.stringify(await world.items())).not.toContain(account);
});

describe("a link that lifts an erasure", () => {
  const linked = async (
    changes: Partial<FactsOrigin>,
    before = async (_world: World): Promise<unknown> => null,
  ) => {
    const world = createWorld(table);
    await before(world);
    await world.store({ purchases: [owned("1")], origin: fromApple(changes) }, byCredential("a"));
    return queuedOf(world);
  };
  const buried = async (world: World) =>
    world.erase(await world.store({ purchases: [refunded("1")] }, byCredential("a")));

  test("is asked about at once, as the erasure forgot a possible refund", async () => {
    expect(await linked({}, buried)).toEqual({ "1": NOW + 5000 });
    expect((await linked({}))["1"]).toBeGreaterThan(NOW + DAY);
    expect(await linked({ canAsk: false }, buried)).toEqual({});
  });
});

describe("a refused request with an erased purchase or identity", () => {
  /** The app transaction id and a purchase of one person, which two accounts were linked with; the one of the id is erased. */
  const inTwoAccounts = async () => {
    const world = createWorld(table);
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const other = await world.store(
      { identities: [device("1")], purchases: [owned("2")] },
      byCredential("b"),
    );
    await world.erase(other);
    return world;
  };

  test.each<[what: string, shown: GivenFacts]>([
    ["its app transaction id was erased", { identities: [device("1")], purchases: [refunded("1")] }],
    ["another purchase beside it was erased", { purchases: [refunded("1"), owned("2")] }],
    [
      "a notification names an erased person",
      { purchases: [proven(refunded("1"), { identity: device("1") })] },
    ],
  ])("stores what the store said of a living owner's purchase: %s", async (what, shown) => {
    const world = await inTwoAccounts();
    const identities = what.startsWith("a notification") ? [device("1")] : (shown.identities ?? []);
    for (const claim of [null, byClient("a")])
      expect(await refusal(world.store({ ...shown, identities }, claim))).toBe("CUSTOMER_NOT_FOUND");
    expect((await world.read("a")).entitlements).toMatchObject([{ status: "revoked" }]);
    expect((await world.read("b")).entitlements).toEqual([]);
    // The erasure stands.
    expect(await refusal(world.store({ purchases: [owned("2")] }))).toBe("CUSTOMER_NOT_FOUND");
  });
});

describe("a refused link", () => {
  test("lifts no erasure, and keeps an owner's facts", async () => {
    const { world } = await erased();
    await world.store({ purchases: [owned("3")] }, byCredential("b"));
    const shown = {
      identities: [device("1")],
      purchases: [owned("1"), refunded("3")],
    };
    expect(await world.submit(shown, byCredential("c"))).toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
    expect((await world.read("b")).entitlements).toMatchObject([{ status: "revoked" }]);
    for (const [, facts] of REPLAYS.slice(0, 2))
      expect(await refusal(world.store(facts, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

test("an erasure retried after a conflict leaves no absorbed customer", async () => {
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.store({ purchases: [owned("2")] }, byCredential("a"));
  const one = await world.store({ purchases: [owned("1"), owned("2")] });
  await meetingAWriteAt(table, 0, () => world.erase(one));
  expect((await world.read("a")).customerIdentifiers).toEqual([]);
});
