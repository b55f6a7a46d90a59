import { v7 as uuid } from "uuid";
import { customerId, type CustomerId } from "../../lib/identifiers.ts";
import { createOperationTable } from "../../lib/table/operations.ts";
import { byCredential, createWorld, owned, requests, type World } from "../customers/world.ts";
import { NOW } from "../support/purchases.ts";
import { createTestTable, type TestTable } from "../support/table.ts";

let table: TestTable;
beforeAll(async () => {
  table = await createTestTable();
});
afterAll(() => table.remove());

/** Two customers who were merged: the alias, and the one it leads to. */
const merged = async (world: World, keys: readonly [string, string]) => {
  const [one, other] = [
    await world.store({ purchases: [owned(keys[0])] }, byCredential("a")),
    await world.store({ purchases: [owned(keys[1])] }),
  ];
  await world.store({ purchases: keys.map((key) => owned(key)) });
  if (one === null || other === null) throw new Error("Nobody is there.");
  return { survivor: one.identifier, alias: other.identifier };
};

/** Ends a customer, and leaves all that it owned. */
const end = async (world: World, customer: CustomerId): Promise<void> => {
  const { identifier } = world.application;
  const stored = (await world.evidenceStore.table.findCustomers(identifier, [customer])).living.get(customer);
  if (stored === undefined) throw new Error("Nobody is there.");
  const entry = { action: "erase", customer, moment: NOW, by: "ada", reason: "r" } as const;
  await createOperationTable(table).end(identifier, stored, entry, uuid());
};

test("identifiers lead to living customers, or to where nobody is any more: one read for each step of an alias", async () => {
  const world = createWorld(table);
  const living = await merged(world, ["1", "2"]);
  const erased = await merged(world, ["3", "4"]);
  const unknown = customerId(uuid());
  await end(world, erased.survivor);
  const { findCustomers } = world.evidenceStore.table;
  const asked = [living.alias, living.survivor, erased.alias, unknown];
  let found: Awaited<ReturnType<typeof findCustomers>> | undefined;
  const sent = await requests(table, async () => {
    found = await findCustomers(world.application.identifier, asked);
  });
  expect(sent).toEqual(["BatchGetItem", "BatchGetItem"]);
  expect([...(found?.living ?? [])].map(([from, { identifier }]) => [from, identifier])).toEqual([
    [living.alias, living.survivor],
    [living.survivor, living.survivor],
  ]);
  expect(new Set(found?.living.values()).size).toBe(1);
  expect([...(found?.gone ?? [])]).toEqual([
    [erased.alias, erased.survivor],
    [unknown, unknown],
  ]);
});
