import { renewedPurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { aCatalog, aProduct, aRenewal, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  byCredential,
  createWorld,
  device,
  owned,
  requests,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const END = NOW + 20 * DAY;
const aWorld = (): World => createWorld(table).selling(aCatalog([aProduct()]));

/** The renewal info of {@link owned}: a payment has failed, and a grace period runs. */
const failing = (key: string): Purchase =>
  renewedPurchase(owned(key), aRenewal({ signedAt: END + 1, graceEndsAt: END + 6 * DAY }));

const statusOf = async (world: World, account: string) =>
  (await world.at(END + DAY).read(account)).entitlements[0]?.status;

// The reference model has the rules of whom else a renewal info counts for (`test/proof/model`).
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

  test("of an erased customer's lineage is ignored", async () => {
    const world = aWorld();
    await world.erase(await world.store({ purchases: [owned("1")] }, byCredential("a")));
    const before = await world.items();
    for (const identities of [[], [device("d")]])
      expect(await world.store({ identities, renewals: [failing("1")] })).toBeNull();
    expect(await world.items()).toEqual(before);
  });
});
