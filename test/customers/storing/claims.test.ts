import type { Environment } from "../../../lib/contract/schemas.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  owned,
  requests,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const aWorld = (claimsPerAccount: number): World => createWorld(table, { claimsPerAccount });

const claim = (world: World, key: string, account = "a") =>
  world.store({ identities: [device(key)], purchases: [owned(key)] }, byClient(account));
const claimUnnamed = (world: World, key: string) => world.store({ purchases: [owned(key)] }, byClient("a"));
const linkedTo = async (world: World, account = "a"): Promise<number> =>
  (await world.read(account)).customerIdentifiers.length;

const countsOf = async (world: World) => (await world.items()).filter(({ sk }) => sk === "CLAIMS");

describe("an account with the maximum number of claimed customers", () => {
  test("gains no other: the twenty-first is stored without a link", async () => {
    const world = aWorld(20);
    for (let key = 1; key <= 20; key += 1) await claim(world, String(key));
    const last = { identities: [device("21")], purchases: [owned("21")] };
    const stored = await world.submit(last, byClient("a"));
    expect(stored).toMatchObject({ outcome: "stored", customer: { holdings: [{ key: "21" }] } });
    expect(await linkedTo(world)).toBe(20);
  });
  test("stays full when a claim is repeated, and nothing is written", async () => {
    const world = aWorld(1);
    await claim(world, "1");
    const first = await claim(world, "2");
    expect(await requests(table, () => claim(world, "2"))).not.toContain("TransactWriteItems");
    expect(await claim(world, "2")).toEqual(first);
    expect(await linkedTo(world)).toBe(1);
  });
});

describe("claims without an app transaction id", () => {
  test("are three at most; claims with one find room for twenty", async () => {
    const world = aWorld(20);
    for (let key = 1; key <= 5; key += 1) await claimUnnamed(world, String(key));
    expect(await linkedTo(world)).toBe(3);
    for (let key = 6; key <= 25; key += 1) await claim(world, String(key));
    expect(await linkedTo(world)).toBe(20);
  });
});

describe("claims of test environments are counted apart from production:", () => {
  const inEnvironment = (key: string, environment: Environment): Purchase => ({ ...owned(key), environment });
  test.each<[first: Environment, second: Environment, customers: number]>([
    ["sandbox", "production", 2],
    ["production", "sandbox", 2],
    ["sandbox", "xcode", 1],
    ["sandbox", "sandbox", 1],
  ])("%s, then %s: %i linked", async (first, second, customers) => {
    const world = aWorld(1);
    for (const [key, environment] of [first, second].entries())
      await world.store({ environment, purchases: [inEnvironment(String(key), environment)] }, byClient("a"));
    expect(await linkedTo(world)).toBe(customers);
  });
});

describe("a credential's link", () => {
  test("is made even when claims have no room left", async () => {
    const world = aWorld(1);
    await claim(world, "1");
    await claim(world, "2");
    await world.store({ purchases: [owned("2")] }, byCredential("a"));
    expect(await linkedTo(world)).toBe(2);
  });
});

describe("a claim's place is free again", () => {
  test.each<[when: string, act: (world: World) => Promise<unknown>, left: number]>([
    [
      "when a credential confirms the claim",
      (world) => world.store({ purchases: [owned("1")] }, byCredential("a")),
      2,
    ],
    [
      "when the claim gives way to a credential's link",
      (world) => world.store({ purchases: [owned("1")] }, byCredential("b")),
      1,
    ],
    ["when the customer is unlinked", async (world) => world.unlink(await claim(world, "1")), 1],
    ["when the customer is moved", async (world) => world.unlink(await claim(world, "1"), "b"), 1],
    ["when the customer is erased", async (world) => world.erase(await claim(world, "1")), 1],
    [
      "when the customer merges with one that a credential has linked",
      async (world) => {
        await world.store({ purchases: [owned("3")] }, byCredential("a"));
        await world.store({ purchases: [owned("1"), owned("3")] });
      },
      2,
    ],
  ])("%s", async (_, act, left) => {
    const world = aWorld(1);
    await claim(world, "1");
    expect(await countsOf(world)).toMatchObject([{ production: 1 }]);
    await act(world);
    // The count's key names the account, so it goes with the last claim.
    expect(await countsOf(world)).toEqual([]);
    await claim(world, "2");
    expect(await linkedTo(world)).toBe(left);
    await claim(world, "4");
    expect(await linkedTo(world)).toBe(left);
  });
});

test("concurrent claims never exceed the limit", async () => {
  const world = aWorld(3);
  const keys = Array.from({ length: 12 }, (_, key) => String(key));
  const stored = await Promise.all(keys.map((key) => claim(world, key)));
  expect(stored.every((customer) => customer !== null)).toBe(true);
  expect(await linkedTo(world)).toBe(3);
});
