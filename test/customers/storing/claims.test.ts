import type { Environment } from "../../../lib/contract/schemas.ts";
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

/** Unset: the service's own limit. */
const aWorld = (claimsPerAccount?: number): World =>
  createWorld(table, claimsPerAccount === undefined ? {} : { claimsPerAccount });

const claim = (world: World, key: string, account = "a") =>
  world.store({ identities: [device(key)], purchases: [owned(key)] }, byClient(account));
const linkedTo = async (world: World, account = "a"): Promise<number> =>
  (await world.read(account)).customerIdentifiers.length;

const countsOf = async (world: World) => (await world.items()).filter(({ sk }) => sk === "CLAIMS");

test("an account with twenty claimed customers gains no other, and a repeated claim writes nothing", async () => {
  const world = aWorld();
  for (let key = 1; key <= 20; key += 1) await claim(world, String(key));
  const first = await claim(world, "21");
  expect(first).toMatchObject({ holdings: [{ key: "21" }] });
  expect(await requests(table, () => claim(world, "21"))).not.toContain("TransactWriteItems");
  expect(await claim(world, "21")).toEqual(first);
  expect(await linkedTo(world)).toBe(20);
});

test("claims without an app transaction id are three at most; those with one find room for twenty", async () => {
  const world = aWorld();
  // Xcode's ids name nobody.
  for (const [environment, customers] of [["production", 3] as const, ["xcode", 3 + 5] as const]) {
    for (const key of ["1", "2", "3", "4", "5"])
      await world.store({ environment, purchases: [{ ...owned(key), environment }] }, byClient("a"));
    expect(await linkedTo(world)).toBe(customers);
  }
  for (let key = 6; key <= 25; key += 1) await claim(world, String(key));
  expect(await linkedTo(world)).toBe(20 + 5);
});

test.each<[first: Environment, second: Environment, customers: number]>([
  ["sandbox", "production", 2],
  ["production", "sandbox", 2],
  ["sandbox", "xcode", 1],
  ["sandbox", "sandbox", 1],
])("tests are counted apart from production: %s, %s: %i", async (first, second, customers) => {
  const world = aWorld(1);
  for (const [key, environment] of [first, second].entries()) {
    const purchases = [{ ...owned(String(key)), environment }];
    await world.store({ environment, purchases }, byClient("a"));
  }
  expect(await linkedTo(world)).toBe(customers);
});

test("a credential's link is made even when claims have no room left", async () => {
  const world = aWorld(1);
  await claim(world, "1");
  await claim(world, "2");
  await world.store({ purchases: [owned("2")] }, byCredential("a"));
  expect(await linkedTo(world)).toBe(2);
});

const linked = (world: World, account: string) =>
  world.store({ purchases: [owned("1")] }, byCredential(account));
test.each<[when: string, act: (world: World) => Promise<unknown>, left: number]>([
  ["when a credential confirms the claim", (world) => linked(world, "a"), 2],
  ["when the claim gives way to a credential's link", (world) => linked(world, "b"), 1],
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
])("a claim's place is free again %s", async (_, act, left) => {
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

test("concurrent claims never exceed the limit", async () => {
  const world = aWorld(3);
  const keys = Array.from({ length: 12 }, (_, key) => String(key));
  const stored = await Promise.all(keys.map((key) => claim(world, key)));
  expect(stored.every((customer) => customer !== null)).toBe(true);
  expect(await linkedTo(world)).toBe(3);
});
