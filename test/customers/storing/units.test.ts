import { meter, type Meter } from "../../../testing/support/metered/meter.ts";
import { SLOW } from "../../../testing/support/lanes.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import {
  android,
  byCredential,
  createWorld,
  device,
  owned,
  type GivenFacts,
} from "../../../testing/support/world.ts";

/** A link's capacity units do not grow with earlier purchases that grant nothing. */

let table: TestTable;
let metered: Meter;
beforeAll(async () => {
  table = await createTestTable();
  metered = meter(table.client);
});
afterAll(() => table.remove());

/** Number of the last link. */
const LAST = SLOW ? 1_200 : 300;
const AT_ONCE = 40;
const named = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index).padStart(8, "0"));

type Link = (names: readonly string[]) => Promise<unknown>;

const coins = (names: readonly string[]): GivenFacts => ({
  identities: [device("1")],
  purchases: names.map((name) =>
    owned(name, { productIdentifier: "coins", nature: "consumable", endsAt: null }),
  ),
});
const packs = (names: readonly string[]): GivenFacts => ({
  purchases: names.map((name) =>
    android(name, NOW, { productIdentifier: "pack", nature: "consumable", endsAt: null }),
  ),
});

test.each<
  [
    what: string,
    bought: (names: readonly string[]) => GivenFacts,
    meanwhile: (link: Link, names: readonly string[]) => Promise<unknown>,
  ]
>([
  ["coin packs of one iOS customer", coins, (link, names) => link(names)],
  [
    "Android packs of one account",
    packs,
    async (link, names) => {
      for (let from = 0; from < names.length; from += AT_ONCE)
        await Promise.all(names.slice(from, from + AT_ONCE).map((name) => link([name])));
    },
  ],
])("a late link costs the same as the 10th: %s", async (_, bought, meanwhile) => {
  const world = createWorld(table);
  const link: Link = (names) => world.store(bought(names), byCredential("a"));
  const unitsOf = async (index: number) => {
    metered.take();
    await link(named(index, 1));
    const { requests, readUnits, writeUnits } = metered.take();
    return { requests, readUnits, writeUnits };
  };
  for (const name of named(1, 9)) await link([name]);
  const tenth = await unitsOf(10);
  await meanwhile(link, named(11, LAST - 11));
  expect(await unitsOf(LAST)).toEqual(tenth);
});
