import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import { customerId, type CustomerId } from "../../../lib/identifiers.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { encodeHoldings } from "../../../lib/table/customers/items.ts";
import { keys } from "../../../lib/table/keys.ts";
import {
  byCredential,
  createWorld,
  device,
  owned,
  requests,
  type World,
} from "../../../testing/support/world.ts";
import { aLine, aPurchase, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";

const table = await createTestTable();
afterAll(() => table.remove());

/** Two merged customers: the alias and its survivor. */
const merged = async (world: World, keys: readonly [string, string]) => {
  const [one, other] = [
    await world.store({ purchases: [owned(keys[0])] }, byCredential("a")),
    await world.store({ purchases: [owned(keys[1])] }),
  ];
  await world.store({ purchases: keys.map((key) => owned(key)) });
  if (one === null || other === null) throw new Error("Nobody is there.");
  return { survivor: one.identifier, alias: other.identifier };
};

test("identifiers resolve to living or erased customers, an alias per read", async () => {
  const world = createWorld(table);
  const living = await merged(world, ["1", "2"]);
  const erased = await merged(world, ["3", "4"]);
  const unknown = customerId(uuid());
  await world.beginErasure({ identifier: erased.survivor });
  const { findCustomers } = world.factStore.table;
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

test("a survivor that is read without the merge that its alias shows is read again", async () => {
  const world = createWorld(table);
  const { identifier } = world.application;
  const { survivor, alias } = await merged(world, ["1", "2"]);
  const key = keys.customer(identifier, alias);
  const item = (await world.items()).find(({ pk, sk }) => pk === key.pk && sk === key.sk);
  // The alias names a later version of the survivor than the survivor's item has.
  const version = Number(item?.["survivorVersion"]) + 1;
  const setVersion = (of: CustomerId, name: string) =>
    table.client.send(
      new UpdateCommand({
        TableName: table.name,
        Key: { ...keys.customer(identifier, of) },
        UpdateExpression: "SET #name = :version",
        ExpressionAttributeNames: { "#name": name },
        ExpressionAttributeValues: { ":version": version },
      }),
    );
  await setVersion(alias, "survivorVersion");
  const pause = async () => void (await setVersion(survivor, "version"));
  const { living } = await createCustomerTable({ ...table, pause }).findCustomers(identifier, [alias]);
  expect(living.get(alias)).toMatchObject({ version, holdings: [{ key: "1" }, { key: "2" }] });
});

describe("the check that customers are unchanged and facts still unowned", () => {
  /** Fourteen customers whose items are 5 MB together. */
  const large = async ({ application: { identifier }, factStore }: World) => {
    const identifiers = Array.from({ length: 14 }, () => customerId(uuid()));
    const line = aLine({ productIdentifier: "p".repeat(900) });
    const item = {
      environment: "production",
      createdAt: NOW,
      version: 1,
      link: { account: "a", assertedBy: "credential", linkedAt: NOW },
      holdings: encodeHoldings(Array.from({ length: 350 }, () => aPurchase({ lines: [line] }))),
      hasPurchased: true,
      absorbed: [],
      unsettled: false,
      aliasOf: null,
      survivorVersion: 0,
    };
    for (const customer of identifiers) {
      const Item = { ...keys.customer(identifier, customer), customer, ...item };
      await table.client.send(new PutCommand({ TableName: table.name, Item }));
    }
    const { living } = await factStore.table.findCustomers(identifier, identifiers);
    return [...living.values()];
  };
  test("covers any number of customers, however large", async () => {
    const world = createWorld(table);
    const customers = await large(world);
    const isAsRead = (read: typeof customers) =>
      world.factStore.table.areUnchanged(world.application.identifier, read, {
        identities: [],
        purchases: [],
      });
    const sent = await requests(table, async () => expect(await isAsRead(customers)).toBe(true));
    // One transaction reads 4 MB at most.
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent)).toEqual(new Set(["TransactGetItems"]));
    const changed = customers.map((one, index) => (index === 13 ? { ...one, version: 2 } : one));
    expect(await isAsRead(changed)).toBe(false);
  });

  test.each([
    ["an identity", { identities: [device("1")] }],
    ["a purchase", { purchases: [owned("1")] }],
  ])("fails for %s that has an owner by now", async (_, stored) => {
    const world = createWorld(table);
    const unowned = {
      identities: [device("1"), device("2")],
      purchases: [owned("1"), owned("1"), owned("2")],
    };
    const isAsRead = () => world.factStore.table.areUnchanged(world.application.identifier, [], unowned);
    expect(await isAsRead()).toBe(true);
    await world.store(stored, byCredential("a"));
    expect(await isAsRead()).toBe(false);
  });

  test("counts what an erasure blocks as unowned", async () => {
    const world = createWorld(table);
    await world.erase(await world.store({ purchases: [owned("1")] }));
    const unowned = { identities: [], purchases: [owned("1")] };
    const { areUnchanged } = world.factStore.table;
    expect(await areUnchanged(world.application.identifier, [], unowned)).toBe(true);
  });
});
