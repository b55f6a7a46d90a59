import { renewedPurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../lib/entitlements/renewal.ts";
import { aCatalog, aProduct, aRenewal, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  owned,
  refusal,
  requests,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const END = NOW + 20 * DAY;
const aWorld = (): World => createWorld(table).selling(aCatalog([aProduct()]));

/** The renewal info of {@link owned}: a payment has failed, and a grace period runs. */
const failing = (key: string, renewal: Partial<Renewal> = {}): Purchase =>
  renewedPurchase(owned(key), aRenewal({ signedAt: END + 1, graceEndsAt: END + 6 * DAY, ...renewal }));

const statusOf = async (world: World, account: string) =>
  (await world.at(END + DAY).read(account)).entitlements[0]?.status;

describe("a renewal info", () => {
  test("counts with a transaction of its lineage, in one transaction", async () => {
    const world = aWorld();
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const sent = await requests(table, () =>
      world.store({ purchases: [owned("1")], renewals: [failing("1")] }),
    );
    expect(sent).toEqual(["BatchGetItem", "BatchGetItem", "TransactWriteItems"]);
    expect(await statusOf(world, "a")).toBe("grace_period");
  });

  test("of a known lineage counts without a transaction, and is answered", async () => {
    const world = aWorld();
    await world.store({ purchases: [owned("1")], identities: [device("d")] }, byCredential("a"));
    const stored = await world.store({ identities: [device("d")], renewals: [failing("1")] });
    expect(stored?.holdings).toMatchObject([{ renewal: { graceEndsAt: END + 6 * DAY } }]);
    expect(await statusOf(world, "a")).toBe("grace_period");
  });

  test.each([null, byClient("a"), byCredential("a")])(
    "of an unknown lineage is ignored and creates nobody: claimed by %j",
    async (claim) => {
      const world = aWorld();
      expect(await world.store({ renewals: [failing("1")] }, claim)).toBeNull();
      expect(await world.items()).toEqual([]);
    },
  );

  test("of an erased customer's lineage is ignored", async () => {
    const world = aWorld();
    await world.erase(await world.store({ purchases: [owned("1")] }, byCredential("a")));
    const before = await world.items();
    for (const identities of [[], [device("d")]])
      expect(await world.store({ identities, renewals: [failing("1")] })).toBeNull();
    expect(await world.items()).toEqual(before);
  });
});

describe("a renewal info of somebody else's lineage", () => {
  test("is stored for its owner, and merges and links nobody", async () => {
    const world = aWorld();
    const owner = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const shown = { purchases: [owned("2")], renewals: [failing("1")] };
    const other = await world.store(shown, byCredential("b"));
    expect((await world.read("b")).customerIdentifiers).toEqual([other?.identifier]);
    expect((await world.read("a")).customerIdentifiers).toEqual([owner?.identifier]);
    expect(await statusOf(world, "a")).toBe("grace_period");
  });

  test("is stored although the link is refused", async () => {
    const world = aWorld();
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await world.store({ purchases: [owned("2")] }, byCredential("b"));
    const refused = world.store({ purchases: [owned("2")], renewals: [failing("1")] }, byCredential("c"));
    expect(await refusal(refused)).toBe("CUSTOMER_ALREADY_LINKED");
    expect(await statusOf(world, "a")).toBe("grace_period");
  });
});
