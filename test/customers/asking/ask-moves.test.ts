import type { FactsOrigin } from "../../../lib/customers/asking/ask.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { fromApple, queuedOf, recordedOf } from "../refreshing.ts";
import {
  android,
  byCredential,
  createWorld,
  owned,
  replacing,
  requests,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const HOUR = 3600_000;
const END = NOW + 20 * DAY;
const TOKEN = "the-purchase-token";

const fromGoogle = (changes: Partial<FactsOrigin> = {}): FactsOrigin => ({
  source: {
    store: "android-store",
    packageName: "com.example.trails",
    purchaseToken: TOKEN,
    productKind: "subscription",
  },
  canAsk: true,
  askedAt: null,
  ...changes,
});

const expectAsks = async (world: World, expected: Readonly<Record<string, number>>): Promise<void> => {
  expect(await queuedOf(world)).toEqual(expected);
  expect(await recordedOf(world)).toEqual(expected);
};

describe("facts", () => {
  test("write their purchase's question in their own transaction", async () => {
    const world = createWorld(table);
    const sent = await requests(table, () =>
      world.store({ purchases: [owned("1")], origin: fromApple() }, byCredential("a")),
    );
    expect(sent.filter((command) => command.includes("Write"))).toEqual(["TransactWriteItems"]);
    await expectAsks(world, { 1: END - HOUR });
  });
});

describe("a purchase token", () => {
  const purchase = android(purchaseKeyOfToken(TOKEN));
  const holders = async (world: World) =>
    (await world.items()).filter((item) => JSON.stringify(item).includes(TOKEN));

  test("is in the purchase's question and in no other item", async () => {
    const world = createWorld(table);
    await world.store({ purchases: [purchase], origin: fromGoogle() }, byCredential("a"));
    expect(await holders(world)).toMatchObject([{ pk: expect.stringContaining("#ASK#android-store#") }]);
  });
  test("never becomes that of the purchase it replaced", async () => {
    const world = createWorld(table);
    const old = android(purchaseKeyOfToken("the-older-token"));
    const source = { ...fromGoogle().source, purchaseToken: "the-older-token" } as FactsOrigin["source"];
    await world.store({ purchases: [old], origin: fromGoogle({ source }) });
    await world.store({ purchases: [replacing(purchase, old)], origin: fromGoogle() });
    const asks = (await world.items()).filter(({ source }) => source !== undefined);
    expect(asks.map(({ key, source }) => [key, source]).toSorted()).toEqual(
      [
        [old.key, source],
        [purchase.key, fromGoogle().source],
      ].toSorted(),
    );
  });
  test("is deleted with its customer", async () => {
    const world = createWorld(table);
    const facts = { purchases: [purchase], origin: fromGoogle() };
    const customer = await world.store(facts, byCredential("a"));
    await world.erase(customer);
    expect(await holders(world)).toEqual([]);
  });
});
