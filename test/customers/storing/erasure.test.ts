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

test.each(REPLAYS)("after an erasure, a request without a credential is refused: %s", async (_, facts) => {
  const { world } = await erased();
  const before = await world.items();
  for (const claim of [null, byClient("a"), byClient("b")])
    expect(await refusal(world.store(facts, claim))).toBe("CUSTOMER_NOT_FOUND");
  expect(await world.items()).toEqual(before);
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
  const shown = (...purchases: NonNullable<GivenFacts["purchases"]>) => ({
    identities: [device("1")],
    purchases,
  });

  test("stores purchases whose transactions name that id", async () => {
    const { world, made } = await linkedAgain();
    expect(await world.store(shown(named), byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("stores them beside another person's purchase too", async () => {
    const { world, made } = await linkedAgain();
    const mixed = { ...shown(named, owned("9")), isChosenByClient: true };
    expect(await world.store(mixed, byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.store({ purchases: [owned("2")] }))?.identifier).toBe(made?.identifier);
    expect((await world.store({ purchases: [owned("9")] }))?.identifier).not.toBe(made?.identifier);
  });
  test("is refused for purchases that do not name it, or where only a client has linked it", async () => {
    const { world } = await linkedAgain();
    expect(await refusal(world.store(shown(owned("2")), byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
    const claimed = createWorld(table);
    await claimed.erase(await claimed.store({ purchases: [owned("2")] }, byCredential("a")));
    await claimed.store(shown(owned("3")), byClient("a"));
    expect(await refusal(claimed.store(shown(named), byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
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

test("a link that lifts an erasure is asked about at once: a refund may be forgotten", async () => {
  const linked = async (isErased: boolean, canAsk = true) => {
    const world = createWorld(table);
    if (isErased) await world.erase(await world.store({ purchases: [refunded("1")] }, byCredential("a")));
    await world.store({ purchases: [owned("1")], origin: fromApple({ canAsk }) }, byCredential("a"));
    return queuedOf(world);
  };
  expect(await linked(true)).toEqual({ "1": NOW + 5000 });
  expect((await linked(false))["1"]).toBeGreaterThan(NOW + DAY);
  expect(await linked(true, false)).toEqual({});
});

test.each<[what: string, shown: GivenFacts]>([
  ["its app transaction id was erased", { identities: [device("1")], purchases: [refunded("1")] }],
  ["another purchase beside it was erased", { purchases: [refunded("1"), owned("2")] }],
  [
    "a notification names an erased person",
    { identities: [device("1")], purchases: [proven(refunded("1"), { identity: device("1") })] },
  ],
])("what a refused request says of a living owner's purchase is stored: %s", async (_, shown) => {
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const other = { identities: [device("1")], purchases: [owned("2")] };
  await world.erase(await world.store(other, byCredential("b")));
  for (const claim of [null, byClient("a")])
    expect(await refusal(world.store(shown, claim))).toBe("CUSTOMER_NOT_FOUND");
  expect((await world.read("a")).entitlements).toMatchObject([{ status: "revoked" }]);
  expect((await world.read("b")).entitlements).toEqual([]);
  // The erasure stands.
  expect(await refusal(world.store({ purchases: [owned("2")] }))).toBe("CUSTOMER_NOT_FOUND");
});

test("a refused link lifts no erasure, and keeps an owner's facts", async () => {
  const { world } = await erased();
  await world.store({ purchases: [owned("3")] }, byCredential("b"));
  const shown = { identities: [device("1")], purchases: [owned("1"), refunded("3")] };
  expect(await world.submit(shown, byCredential("c"))).toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
  expect((await world.read("b")).entitlements).toMatchObject([{ status: "revoked" }]);
  for (const [, facts] of REPLAYS.slice(0, 2))
    expect(await refusal(world.store(facts, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
});

test("an erasure retried after a conflict leaves no absorbed customer", async () => {
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.store({ purchases: [owned("2")] }, byCredential("a"));
  const one = await world.store({ purchases: [owned("1"), owned("2")] });
  await meetingAWriteAt(table, 0, () => world.erase(one));
  expect((await world.read("a")).customerIdentifiers).toEqual([]);
});
