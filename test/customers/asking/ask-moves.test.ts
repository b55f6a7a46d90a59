import { HOUR } from "../../../lib/duration.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { fromApple, fromGoogle, queuedOf, recordedOf } from "../refreshing.ts";
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

const TOKEN = "the-purchase-token";

test("facts write their purchase's question in their own transaction", async () => {
  const world = createWorld(table);
  const facts = { purchases: [owned("1")], origin: fromApple() };
  const sent = await requests(table, () => world.store(facts, byCredential("a")));
  expect(sent.filter((command) => command.includes("Write"))).toEqual(["TransactWriteItems"]);
  const expected = { 1: NOW + 20 * DAY - HOUR };
  expect([await queuedOf(world), await recordedOf(world)]).toEqual([expected, expected]);
});

describe("a purchase token", () => {
  const purchase = android(purchaseKeyOfToken(TOKEN));
  const holders = async (world: World) =>
    (await world.items()).filter((item) => JSON.stringify(item).includes(TOKEN));

  test("never becomes that of the purchase it replaced", async () => {
    const world = createWorld(table);
    const old = android(purchaseKeyOfToken("the-older-token"));
    const [older, newer] = [fromGoogle("the-older-token"), fromGoogle(TOKEN)];
    await world.store({ purchases: [old], origin: older });
    await world.store({ purchases: [replacing(purchase, old)], origin: newer });
    const asked = (await world.items()).flatMap(({ key, source }) => (source ? [[key, source]] : []));
    expect(new Map(asked as [string, object][])).toEqual(
      new Map([
        [old.key, older.source],
        [purchase.key, newer.source],
      ]),
    );
  });
  test("is deleted with its customer", async () => {
    const world = createWorld(table);
    const facts = { purchases: [purchase], origin: fromGoogle(TOKEN) };
    await world.erase(await world.store(facts, byCredential("a")));
    expect(await holders(world)).toEqual([]);
  });
});
