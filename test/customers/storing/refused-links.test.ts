import { type ProvenPurchase, mentionedPurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import {
  aCatalog,
  anAcknowledgement,
  aProduct,
  DAY,
  NOW,
  proven,
} from "../../../testing/support/stores/purchases.ts";
import { pendingIn } from "../../../testing/support/table/table.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  extended,
  owned,
  refunded,
  replacing,
  requests,
  type GivenFacts,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const aWorld = (): World =>
  createWorld(table).selling(aCatalog([aProduct(), aProduct({ store: "android-store" })]));

const entitlementOf = async (world: World, account: string) => (await world.read(account)).entitlements[0];

const ALREADY_LINKED = { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" };
const CONFLICT = { outcome: "refused", code: "IDENTITY_CONFLICT" };
const END = isoTime(NOW + 90 * DAY);

describe("a refused link keeps for the owner", () => {
  test.each<[fact: string, bought: Purchase, shown: Purchase | ProvenPurchase, expected: object]>([
    ["a refund", owned("1"), refunded("1"), { active: false, status: "revoked" }],
    ["a renewal", owned("1"), extended("1"), { active: true, expiresAt: END }],
    [
      "an Android replacement",
      android("1"),
      replacing(android("2", NOW, { endsAt: NOW + 90 * DAY }), android("1")),
      { active: true, expiresAt: END },
    ],
  ])("%s", async (_, bought, shown, expected) => {
    for (const claim of [byCredential("b"), byClient("b")]) {
      const world = aWorld();
      await world.store({ purchases: [bought] }, byCredential("a"));
      expect(await world.submit({ purchases: [shown] }, claim)).toMatchObject(ALREADY_LINKED);
      expect(await entitlementOf(world, "a")).toMatchObject(expected);
      expect((await world.read("b")).customerIdentifiers).toEqual([]);
    }
  });
  test("no product that it selects of a one-time purchase", async () => {
    const world = aWorld();
    const line = { nature: "non_consumable", endsAt: null } as const;
    const selecting = (...selectedProducts: readonly string[]) => ({
      purchases: [{ ...android("1", NOW, line), selectedProducts }],
    });
    await world.store(selecting(), byCredential("a"));
    expect(await world.submit(selecting("monthly"), byCredential("b"))).toMatchObject(ALREADY_LINKED);
    expect(await entitlementOf(world, "a")).toBeUndefined();
    await world.store(selecting("monthly"), byCredential("a"));
    expect(await entitlementOf(world, "a")).toMatchObject({ active: true });
  });
  test("a new purchase of the same app transaction id", async () => {
    const world = aWorld();
    await world.store({ identities: [device("1")] }, byCredential("a"));
    const shown = { identities: [device("1")], purchases: [owned("1")] };
    expect(await world.submit(shown, byCredential("b"))).toMatchObject(ALREADY_LINKED);
    expect(await entitlementOf(world, "a")).toMatchObject({ active: true });
  });

  test("the purchases of an unlinked customer who is the same person", async () => {
    const world = aWorld();
    const owner = await world.store({ purchases: [owned("1", { endsAt: NOW })] }, byCredential("a"));
    await world.store({ purchases: [owned("2")] });
    const both = { purchases: [owned("1", { endsAt: NOW }), owned("2")] };
    expect(await world.submit(both, byCredential("b"))).toMatchObject(ALREADY_LINKED);
    expect(await entitlementOf(world, "a")).toMatchObject({ active: true });
    expect((await world.store({ purchases: [owned("2")] }))?.identifier).toBe(owner?.identifier);
  });
});

test("an acknowledgement that comes with a refused link is due for the owner, and reported", async () => {
  const world = aWorld();
  const purchase = android("0a01");
  await world.store({ purchases: [purchase] }, byCredential("a"));
  const facts = { purchases: [purchase], acknowledgementDue: anAcknowledgement(purchase) };
  const toAcknowledge = { asked: { acknowledgement: { dueSince: NOW } } };
  expect(await world.submit(facts, byCredential("b"))).toMatchObject({ ...ALREADY_LINKED, toAcknowledge });
  const queued = (await pendingIn(table)).filter((one) => one.application === world.application.identifier);
  const source = { purchaseToken: "the-token" };
  expect(queued).toMatchObject([{ acknowledgement: { dueSince: NOW }, source }]);
});

describe("when a request's facts belong to customers of different accounts,", () => {
  /** An owner in account a, of purchase 1 and app transaction id 1, and one in account b, of purchase 2. */
  const twoOwners = async (): Promise<World> => {
    const world = aWorld();
    await world.store({ identities: [device("1")], purchases: [owned("1")] }, byCredential("a"));
    await world.store({ purchases: [owned("2")] }, byCredential("b"));
    return world;
  };
  const customersOf = async (world: World) =>
    Promise.all(["a", "b", "c"].map(async (account) => (await world.read(account)).customerIdentifiers));
  const heldIn = async (world: World, account: string) =>
    (await world.factStore.table.findAccount(world.application.identifier, byClient(account).account))
      .flatMap(({ holdings }) => holdings)
      .map(({ key }) => key);

  test.each([null, byCredential("a"), byCredential("c"), byClient("b")])(
    "each owner gets its own purchases' facts, and no link changes: %j",
    async (claim) => {
      const world = await twoOwners();
      const before = await customersOf(world);
      const shown = { purchases: [refunded("1"), extended("2")] };
      expect(await world.submit(shown, claim)).toMatchObject(CONFLICT);
      expect(await entitlementOf(world, "a")).toMatchObject({ status: "revoked" });
      expect(await entitlementOf(world, "b")).toMatchObject({ active: true, expiresAt: END });
      expect(await customersOf(world)).toEqual(before);
    },
  );

  const ofBoth = { mentioned: [mentionedPurchase(owned("2"), null)], identity: device("1") };
  test.each<[whose: string, purchase: ProvenPurchase, a: readonly string[], b: readonly string[]]>([
    ["stored for its predecessor's owner", replacing(owned("3"), owned("2")), ["1"], ["3"]],
    ["stored for its app transaction id's", proven(owned("3"), { identity: device("1") }), ["1", "3"], ["2"]],
    ["stored for its predecessor's rather than that", proven(owned("3"), ofBoth), ["1"], ["2", "3"]],
    ["left out when it names nobody", proven(owned("3")), ["1"], ["2"]],
    ["left out when its predecessor is unknown", replacing(owned("3"), owned("4")), ["1"], ["2"]],
  ])("a purchase without an owner is %s", async (_, purchase, a, b) => {
    const world = await twoOwners();
    const shown = { identities: [device("1")], purchases: [owned("1"), owned("2"), purchase] };
    expect(await world.submit(shown, byCredential("a"))).toMatchObject(CONFLICT);
    expect([await heldIn(world, "a"), await heldIn(world, "b")]).toEqual([a, b]);
  });

  test.each<[string, GivenFacts]>([
    ["known purchases", { purchases: [refunded("1"), extended("2")] }],
    ["a replacement", { purchases: [owned("1"), replacing(owned("3"), owned("2"))] }],
  ])("a replay writes nothing: %s", async (_, shown) => {
    const world = await twoOwners();
    await world.submit(shown, byCredential("a"));
    const sent = await requests(table, () => world.submit(shown, byCredential("a")));
    expect(new Set(sent)).toEqual(new Set(["BatchGetItem", "TransactGetItems"]));
  });
});
