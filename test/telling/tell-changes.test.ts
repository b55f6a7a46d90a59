import { catalogOf } from "../../lib/entitlements/catalog.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { createMemoryTable } from "../../testing/support/table/memory-table.ts";
import {
  byClient,
  byCredential,
  createToldWorld,
  createWorld,
  device,
  extended,
  owned,
  refunded,
  type ToldWorld,
  type World,
} from "../../testing/support/world.ts";

const table = await aUseCaseTable();

/** A world in which account a was told of its purchase. */
const sold = async (claim = byCredential("a")) => {
  const told = createToldWorld(table);
  const customer = await told.world.store({ purchases: [owned("1")] }, claim);
  expect(await told.tell()).toEqual({ told: 1, oldest: 0 });
  return { told, customer };
};

/** Account, version, and entitlements of each change; null: emptied. */
const toldIn = async (told: ToldWorld) =>
  (await told.changes()).map((change) => {
    if (change === null) return null;
    const entitlements = change.entitlements.map(({ identifier, status }) => `${identifier} ${status}`);
    return [change.applicationAccountIdentifier, change.version, ...entitlements].join(" ");
  });

describe("an account is told", () => {
  test("as endpoint 3 answers it, from version 1 on", async () => {
    const { told, customer } = await sold();
    const { applicationIdentifier, ...answer } = await told.world.read("a");
    expect(await told.changes()).toEqual([
      {
        applicationIdentifier,
        ...answer,
        version: 1,
        changed: ["premium"],
        customerIdentifiers: [customer?.identifier],
      },
    ]);
  });

  test("of a customer that has no purchase", async () => {
    const told = createToldWorld(table);
    await told.world.store({ identities: [device("1")] }, byCredential("a"));
    await told.tell();
    expect(await told.changes()).toMatchObject([{ version: 1, changed: [], entitlements: [] }]);
  });

  test.each<[what: string, act: (world: World) => Promise<unknown>, after: readonly unknown[]]>([
    [
      "of a refund, once, however often the facts are stored",
      async ({ store }) => {
        for (const _ of [1, 2]) await store({ purchases: [refunded("1")] });
      },
      ["a 2 premium revoked"],
    ],
    [
      "nothing where only the time of verification differs",
      ({ store }) => store({ purchases: [owned("1", { verifiedAt: NOW })] }),
      [],
    ],
    [
      "of both accounts when a customer moves: the loss first",
      async ({ store, unlink }) => unlink(await store({ purchases: [owned("1")] }), "b"),
      ["a 2", "b 1 premium active"],
    ],
    [
      "of a claim that gives way",
      ({ store }) => store({ purchases: [owned("1")] }, byCredential("b")),
      ["a 2", "b 1 premium active"],
    ],
  ])("%s", async (_, act, after) => {
    const { told } = await sold(byClient("a"));
    await act(told.world);
    await told.tell();
    await told.tell();
    expect(await toldIn(told)).toEqual(["a 1 premium active", ...after]);
  });

  test("of an end, by time alone, at the end", async () => {
    const { told } = await sold();
    const [{ expiresAt } = { expiresAt: null }] = (await told.world.read("a")).entitlements;
    const end = Date.parse(expiresAt ?? "");
    await told.tell(end - 1);
    expect(await toldIn(told)).toHaveLength(1);
    await told.tell(end);
    expect(await toldIn(told)).toEqual(["a 1 premium active", "a 2 premium expired"]);
    // Nothing can change any more.
    expect(await told.itemsOf("#CHANGED")).toEqual([]);
  });

  test("of a later end, although the earlier one was never told", async () => {
    const { told } = await sold();
    await told.world.store({ purchases: [extended("1")] });
    await told.tell(NOW + 60 * DAY);
    expect(await toldIn(told)).toEqual(["a 1 premium active", "a 2 premium active"]);
  });

  test("of two accounts that exchange their customers: both losses first", async () => {
    const { told, customer: one } = await sold();
    const other = await told.world.store({ purchases: [owned("2")] }, byCredential("b"));
    await told.tell();
    await told.world.unlink(one, "b");
    await told.world.unlink(other, "a");
    await told.tell();
    const after = (await toldIn(told)).slice(2).map((change) => change?.split(" ").slice(2).join(" "));
    expect(after).toEqual(["", "", "premium active", "premium active"]);
    expect(await told.itemsOf("#CHANGED")).toHaveLength(2);
  });

  test("nothing where it was never told of what it lost", async () => {
    const told = createToldWorld(table);
    const customer = await told.world.store({ purchases: [owned("1")] }, byCredential("a"));
    await told.world.unlink(customer);
    await told.tell();
    expect(await told.changes()).toEqual([]);
    expect(await told.itemsOf("#TOLD#")).toEqual([]);
  });
});

test("uses the application as it is, not a worker's copy", async () => {
  const told = createToldWorld(table);
  const { application } = told.world;
  await told.world.store({ purchases: [owned("1")] }, byCredential("a"));
  const before = { ...application, catalog: catalogOf(new Map(), []), destinations: [] };
  await told.tell(NOW, { directory: { byIdentifier: () => Promise.resolve(before) } });
  expect(await toldIn(told)).toEqual(["a 1 premium active"]);
  expect(await told.itemsOf("#DESTINATION#")).toHaveLength(1);
});

describe("an erasure", () => {
  test("is published as empty, and leaves only a hashed version", async () => {
    const { told, customer } = await sold();
    await told.world.erase(customer);
    await told.tell();
    expect(await toldIn(told)).toEqual([null, "a 2"]);
    const kept = await told.itemsOf("#TOLD#");
    expect(kept).toEqual([{ pk: expect.stringContaining("#TOLD#ERASED#"), sk: "TOLD", version: 2 }]);
    expect(await told.itemsOf("#CHANGED")).toEqual([]);
    // The person returns: receivers must not take the new state for an older one.
    await told.world.store({ purchases: [owned("1")] }, byCredential("a"));
    await told.tell();
    expect((await toldIn(told)).at(-1)).toEqual("a 3 premium active");
  });

  test("of many customers at once leaves as little", async () => {
    const told = createToldWorld(createMemoryTable());
    const customers = [];
    for (let index = 0; index < 70; index += 1)
      customers.push(await told.world.store({ purchases: [owned(`${index}`)] }, byCredential("ada")));
    await told.tell();
    for (const customer of customers) await told.world.erase(customer);
    await told.tell();
    expect((await told.changes()).at(-1)).toMatchObject({ version: 4, customerIdentifiers: [] });
    expect(await told.itemsOf("#TOLD#")).toEqual([
      { pk: expect.stringContaining("#TOLD#ERASED#"), sk: "TOLD", version: 4 },
    ]);
    expect(await told.itemsOf("#CHANGED")).toEqual([]);
  });

  test("keeps what the account's other customers have", async () => {
    const { told, customer } = await sold();
    await told.world.store({ purchases: [owned("2")] }, byCredential("a"));
    await told.world.erase(customer);
    await told.tell();
    expect((await toldIn(told)).at(-1)).toEqual("a 3 premium active");
    expect(await told.itemsOf("#TOLD#ERASED#")).toEqual([]);
  });
});

test("an application without destinations and feed has no item of changes", async () => {
  const world = createWorld(table);
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.unlink(customer, "b");
  await world.erase(customer);
  const keys = (await world.items()).map(({ pk }) => String(pk));
  expect(keys.filter((pk) => /#(CHANGED|CHANGES|TOLD|DESTINATION)/.test(pk))).toEqual([]);
});
