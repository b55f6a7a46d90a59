import { meter } from "../../../testing/support/metered/meter.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { android, byCredential, createWorld } from "../../../testing/support/world.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(() => table.remove());

test("a link to an account of 100 customers without grants costs the same as to one of ten", async () => {
  const metered = meter(table.client);
  const world = createWorld(table);
  const link = (name: number) => {
    const pack = { productIdentifier: "pack", nature: "consumable", endsAt: null } as const;
    return world.store({ purchases: [android(String(name), NOW, pack)] }, byCredential("a"));
  };
  const linked = (from: number, count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => link(from + index)));
  const unitsOf = async (name: number) => {
    metered.take();
    await link(name);
    const { requests, readUnits, writeUnits } = metered.take();
    return { requests, readUnits, writeUnits };
  };
  await linked(1000, 10);
  const early = await unitsOf(1010);
  await linked(1011, 45);
  await linked(1056, 45);
  expect(await unitsOf(1101)).toEqual(early);
});
