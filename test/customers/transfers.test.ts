import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { TransferPolicy } from "../../lib/applications/application.ts";
import { ABSORBED_PER_TRANSACTION } from "../../lib/customers/customer-change.ts";
import { storeFacts } from "../../lib/customers/store-facts.ts";
import type { AssertedBy } from "../../lib/contract/schemas.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { createAuditTable } from "../../lib/table/audit.ts";
import { createOperationTable } from "../../lib/table/operations.ts";
import { tellsIn } from "../../operator/composition.ts";
import { transactionsOf } from "../../lib/table/write-customer-change.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import {
  aCatalog,
  aLine,
  anAcknowledgement,
  aProduct,
  aPurchase,
  DAY,
  NOW,
  aRenewal,
  period,
  proven,
} from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";
import { createUseCaseTable } from "../../testing/support/use-case-table.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  extended,
  meetingAWriteAt,
  owned,
  refusal,
  type World,
} from "../../testing/support/world.ts";

const HOUR = DAY / 24;

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const aWorld = (transfers: TransferPolicy = "refuse"): World => {
  const world = createWorld(table);
  return world.with({ application: { ...world.application, transfers } });
};

const customersOf = async (world: World, account: string) => (await world.read(account)).customerIdentifiers;
const transfersOf = (world: World) =>
  createOperationTable(table, tellsIn(table)).transfersOf(world.application.identifier);
const auditOf = (world: World) => createAuditTable(table).of(world.application.identifier);

const active = owned("1");
/** Ended so long ago that it cannot be about to be renewed. */
const inactive = owned("1", { endsAt: NOW - DAY });

const STAYS = "CUSTOMER_ALREADY_LINKED";

describe("a customer that a credential has linked", () => {
  const MOVES = "moves";
  test.each<[policy: TransferPolicy, now: string, by: AssertedBy, outcome: string]>([
    ["refuse", "active", "credential", STAYS],
    ["refuse", "inactive", "credential", STAYS],
    ["when_inactive", "active", "credential", STAYS],
    ["when_inactive", "inactive", "credential", MOVES],
    ["always", "active", "credential", MOVES],
    ["always", "inactive", "credential", MOVES],
    ["always", "active", "client", STAYS],
    ["always", "inactive", "client", STAYS],
    ["when_inactive", "inactive", "client", STAYS],
  ])("with transfers %s, while %s, claimed by a %s: %s", async (policy, now, assertedBy, outcome) => {
    const world = aWorld(policy);
    const facts = { purchases: [now === "active" ? active : inactive] };
    const customer = await world.store(facts, byCredential("a"));
    const moves = outcome === MOVES;
    expect(await refusal(world.store(facts, { ...byCredential("b"), assertedBy }))).toBe(
      moves ? "accepted" : outcome,
    );
    expect(await customersOf(world, "a")).toEqual(moves ? [] : [customer?.identifier]);
    expect(await customersOf(world, "b")).toEqual(moves ? [customer?.identifier] : []);
  });
  test("is active if the request's own facts make it so", async () => {
    const world = aWorld("when_inactive");
    await world.store({ purchases: [inactive] }, byCredential("a"));
    expect(await refusal(world.store({ purchases: [extended("1")] }, byCredential("b")))).toBe(STAYS);
  });
  test("moves with its app transaction to who signs in before anything is bought, not with what was bought", async () => {
    const world = aWorld("when_inactive");
    const signIn = { identities: [device("1")] };
    const bought = { ...signIn, purchases: [active] };
    await world.store(signIn, byCredential("a"));
    expect(await refusal(world.store(bought, byCredential("b")))).toBe(STAYS);
    expect(await refusal(world.store(signIn, byCredential("b")))).toBe(STAYS);
    const other = aWorld("when_inactive");
    await other.store(signIn, byCredential("a"));
    expect(await refusal(other.store(signIn, byCredential("b")))).toBe("accepted");
    expect(await refusal(other.store(bought, byCredential("b")))).toBe("accepted");
    expect(await customersOf(other, "b")).toHaveLength(1);
  });
  test("is active if any of its purchases is", async () => {
    const world = aWorld("when_inactive");
    await world.store({ purchases: [inactive, owned("2")] }, byCredential("a"));
    expect(await refusal(world.store({ purchases: [inactive] }, byCredential("b")))).toBe(STAYS);
  });
  test("is not inactive for a day after an end at which another purchase may have been renewed, unheard", async () => {
    const ENDED = NOW - 3 * HOUR;
    const bought = (key: string, line: Partial<Line>, verifiedAt: number) =>
      aPurchase({ store: "android-store", key, lines: [aLine({ ...line, verifiedAt })], verifiedAt });
    const newer = (standing: Line["standing"], verifiedAt: number) =>
      bought("b", { endsAt: ENDED, standing, willRenew: standing === "entitled" }, verifiedAt);
    const older = bought("a", { endsAt: NOW - DAY, standing: "expired", willRenew: false }, NOW - DAY);
    const claimedAt = async (moment: number, said = newer("entitled", NOW - DAY)) => {
      const world = aWorld("when_inactive").selling(aCatalog([aProduct({ store: "android-store" })]));
      await world.store({ purchases: [older, said] }, byCredential("a"));
      return refusal(world.at(moment).store({ purchases: [older] }, byCredential("b")));
    };
    expect(await claimedAt(NOW)).toBe(STAYS);
    expect(await claimedAt(ENDED + DAY - 1)).toBe(STAYS);
    expect(await claimedAt(ENDED + DAY)).toBe("accepted");
    expect(await claimedAt(NOW, newer("expired", NOW - HOUR))).toBe("accepted");
  });
  test.each<[what: string, said: Parameters<typeof aRenewal>[0] | null, outcome: string]>([
    ["says nothing", null, STAYS],
    ["spoke of an earlier period", { periodEndsAt: NOW - 40 * DAY, signedAt: NOW - 50 * DAY }, STAYS],
    ["said that it would renew", { periodEndsAt: NOW - HOUR, signedAt: NOW - DAY }, STAYS],
    [
      "said that it would not",
      { periodEndsAt: NOW - HOUR, willRenew: false, signedAt: NOW - DAY },
      "accepted",
    ],
    [
      "says that it is over",
      { periodEndsAt: NOW - HOUR, willRenew: false, signedAt: NOW - 1000 },
      "accepted",
    ],
  ])("is not inactive for a day after an end of which the App Store %s", async (_, said, outcome) => {
    const ended = owned("1", { startsAt: NOW - 31 * DAY, endsAt: NOW - HOUR, verifiedAt: NOW - 30 * DAY });
    const renewal = said === null ? null : aRenewal({ willRenew: true, ...said });
    const claimedAt = async (moment: number) => {
      const world = aWorld("when_inactive");
      const signIn = { identities: [device("1")] };
      await world.store({ ...signIn, purchases: [{ ...ended, renewal }] }, byCredential("a"));
      return refusal(world.at(moment).store(signIn, byCredential("b")));
    };
    expect(await claimedAt(NOW)).toBe(outcome);
    expect(await claimedAt(NOW - HOUR + DAY - 1)).toBe(outcome);
    expect(await claimedAt(NOW - HOUR + DAY)).toBe("accepted");
  });
  describe("is not inactive by what the catalog does not map:", () => {
    const yearly = (more: Partial<Line> = {}) =>
      android("new", NOW - DAY, {
        productIdentifier: "new",
        endsAt: NOW + 300 * DAY,
        willRenew: true,
        ...more,
      });
    const bought = (more: Partial<Line>) =>
      android("new", NOW - DAY, { productIdentifier: "new", nature: "consumable", endsAt: null, ...more });
    const ios = (nature: Line["nature"], more: Partial<Line> = {}) =>
      owned("1", { productIdentifier: "new", nature, endsAt: null, startsAt: NOW - 400 * DAY, ...more });
    const fromShop = aCatalog([aProduct({ store: "android-store" }), aProduct({ store: "ios-store" })]);

    test.each<[what: string, purchase: ReturnType<typeof owned>, outcome: string]>([
      ["a subscription that runs", yearly(), STAYS],
      ["one that is over", yearly({ endsAt: NOW - 2 * DAY, willRenew: false }), "accepted"],
      ["a one-time product of Google's", bought({}), STAYS],
      ["one that is refunded", bought({ standing: "revoked" }), "accepted"],
      ["a non-consumable", ios("non_consumable"), STAYS],
      [
        "one that is refunded",
        ios("non_consumable", { revokedAt: NOW - DAY, revokedSince: NOW - DAY }),
        "accepted",
      ],
      ["a pass whose length nobody knows", ios("non_renewing"), STAYS],
      ["a consumable of the App Store's", ios("consumable"), "accepted"],
    ])("%s", async (_, purchase, outcome) => {
      const world = aWorld("when_inactive").selling(fromShop);
      await world.store({ purchases: [purchase] }, byCredential("a"));
      expect(await refusal(world.store({ purchases: [purchase] }, byCredential("b")))).toBe(outcome);
    });
    test("what was mapped when it was bought, and is not for a while", async () => {
      const pass = { productIdentifier: "pass", accessDuration: period("P1M") };
      const sold = aWorld("when_inactive").selling(aCatalog([aProduct({ store: "ios-store", ...pass })]));
      const signIn = { identities: [device("1")] };
      const purchases = [
        owned("1", { productIdentifier: "pass", nature: "non_renewing", endsAt: null, startsAt: NOW - DAY }),
      ];
      await sold.store({ ...signIn, purchases }, byCredential("a"));
      expect(await refusal(sold.selling(aCatalog([])).store(signIn, byCredential("b")))).toBe(STAYS);
    });
  });
  describe("is not inactive while a period may run of which no transaction is known:", () => {
    const plan = (
      id: string,
      productIdentifier: string,
      startsAt: number,
      endsAt: number,
      more: Partial<Line> = {},
    ) =>
      aLine({
        transactionIdentifier: id,
        event: `w${id}`,
        productIdentifier,
        startsAt,
        endsAt,
        verifiedAt: startsAt,
        ...more,
      });
    const basic = (more: Partial<Line> = {}) => plan("1", "monthly", NOW - 10 * DAY, NOW + 20 * DAY, more);
    const claimedAt = async (moment: number, lines: readonly Line[], renewal: Purchase["renewal"] = null) => {
      const world = aWorld("when_inactive");
      const signIn = { identities: [device("1")] };
      const purchase = { ...aPurchase({ lines, verifiedAt: NOW - HOUR }), renewal };
      await world.store({ ...signIn, purchases: [purchase] }, byCredential("a"));
      return refusal(world.at(moment).store(signIn, byCredential("b")));
    };

    test("the upgrade that took the place of one that is marked", async () => {
      const marked = basic({ standing: "expired", verifiedAt: NOW - HOUR });
      expect(await claimedAt(NOW, [marked])).toBe(STAYS);
      expect(await claimedAt(NOW + 21 * DAY - 1, [marked])).toBe(STAYS);
      expect(await claimedAt(NOW + 21 * DAY, [marked])).toBe("accepted");
      const known = plan("2", "plus", NOW - 2 * DAY, NOW + 28 * DAY, {
        revokedAt: NOW - HOUR,
        revokedSince: NOW - HOUR,
      });
      expect(await claimedAt(NOW, [marked, known])).toBe("accepted");
    });
    test("the renewal that was charged, and begins later, where the running period was refunded", async () => {
      const running = plan("1", "monthly", NOW - 29 * DAY, NOW + DAY, {
        revokedAt: NOW - DAY,
        revokedSince: NOW - DAY,
        refundedBy: NOW - DAY,
      });
      const renewal = plan("2", "monthly", NOW + DAY, NOW + 31 * DAY, { verifiedAt: NOW - HOUR });
      expect(await claimedAt(NOW, [running, renewal])).toBe(STAYS);
      const refunded = { ...renewal, revokedAt: NOW, revokedSince: NOW, refundedBy: NOW };
      expect(await claimedAt(NOW, [running, refunded])).toBe("accepted");
    });
    test("the one whose end the renewal info names", async () => {
      const ended = plan("1", "monthly", NOW - 35 * DAY, NOW - 5 * DAY);
      const says = (more: Parameters<typeof aRenewal>[0]) =>
        aRenewal({ periodEndsAt: NOW + 25 * DAY, signedAt: NOW - HOUR, ...more });
      expect(await claimedAt(NOW, [ended], says({ willRenew: true }))).toBe(STAYS);
      expect(await claimedAt(NOW, [ended], says({ willRenew: false }))).toBe(STAYS);
      expect(await claimedAt(NOW + 26 * DAY, [ended], says({ willRenew: true }))).toBe("accepted");
      expect(await claimedAt(NOW, [ended], says({ isInBillingRetry: true }))).toBe("accepted");
      const refunded = plan("2", "monthly", NOW - 5 * DAY, NOW + 25 * DAY, {
        revokedAt: NOW,
        revokedSince: NOW,
      });
      expect(await claimedAt(NOW, [ended, refunded], says({}))).toBe("accepted");
    });
  });
  test("is not inactive at the end of a refunded period that the store says will renew", async () => {
    const refundedAt = NOW - 10 * DAY;
    const refunded = owned("1", {
      startsAt: NOW - 30 * DAY,
      endsAt: NOW,
      verifiedAt: refundedAt,
      revokedAt: refundedAt,
      revokedSince: refundedAt,
      refundedBy: refundedAt,
    });
    const renewal = aRenewal({ periodEndsAt: NOW, signedAt: refundedAt + HOUR });
    const claimedAt = async (moment: number) => {
      const world = aWorld("when_inactive");
      const signIn = { identities: [device("1")] };
      await world.store({ ...signIn, purchases: [{ ...refunded, renewal }] }, byCredential("a"));
      return refusal(world.at(moment).store(signIn, byCredential("b")));
    };
    expect(await claimedAt(NOW - 3 * DAY)).toBe("accepted");
    expect(await claimedAt(NOW + HOUR)).toBe(STAYS);
    expect(await claimedAt(NOW + DAY)).toBe("accepted");
  });
  test("is inactive at once where its last period was refunded, but not where that may be renewed by now, and nothing tells", async () => {
    const claimed = async (endsAt: number) => {
      const refunded = owned("1", { endsAt, revokedAt: NOW - HOUR, revokedSince: NOW - HOUR });
      const world = aWorld("when_inactive");
      await world.store({ purchases: [refunded] }, byCredential("a"));
      return refusal(world.store({ purchases: [refunded] }, byCredential("b")));
    };
    expect(await claimed(NOW + 10 * DAY)).toBe("accepted");
    expect(await claimed(NOW + DAY)).toBe(STAYS);
    expect(await claimed(NOW - HOUR)).toBe(STAYS);
    expect(await claimed(NOW - 2 * DAY)).toBe("accepted");
  });
  test("is not inactive while the payment of the request's purchase is pending", async () => {
    const bought = aPurchase({ store: "android-store", key: "pending", lines: [], verifiedAt: NOW });
    const facts = (isPending: boolean) => ({ purchases: [bought], isPending });
    const world = aWorld("when_inactive");
    const customer = await world.store(facts(true), byCredential("a"));
    expect(await refusal(world.store(facts(true), byCredential("b")))).toBe(STAYS);
    expect(await customersOf(world, "a")).toEqual([customer?.identifier]);
    // It was never paid.
    expect(await refusal(world.store(facts(false), byCredential("b")))).toBe("accepted");
    expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
  });
  describe("whose passes follow those of other customers of the account", () => {
    const sold = aProduct({
      store: "android-store",
      productIdentifier: "pass",
      accessDuration: period("P1D"),
    });
    /** Account a with passes, each of a customer of its own, bought so many hours ago. */
    const withPasses = async (...hours: readonly number[]) => {
      const world = aWorld("when_inactive").selling(aCatalog([sold]));
      const passes = hours.map((before) =>
        android(String(before), NOW, {
          productIdentifier: "pass",
          nature: "consumable",
          startsAt: NOW - before * HOUR,
          endsAt: null,
        }),
      );
      for (const one of passes) await world.store({ purchases: [one] }, byCredential("a"));
      return { world, requests: passes.map((one) => ({ purchases: [one] })) };
    };
    const ALL_OVER = NOW + 7 * DAY;

    test.each<[what: string, hours: readonly number[]]>([
      ["one that runs, and one that is over", [30, 29]],
      ["one that runs, was bought before the end of the first, and would go on without it", [30, 20]],
      ["one that waits, one that runs, and one that is over", [30, 29, 28]],
      ["one that waits, and one that runs", [20, 19]],
    ])("stays with each of them until all are over: %s", async (_, hours) => {
      const { world, requests } = await withPasses(...hours);
      const before = await world.read("a");
      for (const request of requests)
        expect(await refusal(world.store(request, byCredential("b")))).toBe(STAYS);
      expect(await world.read("a")).toEqual(before);
      const later = world.at(ALL_OVER);
      for (const request of requests)
        expect(await refusal(later.store(request, byCredential("b")))).toBe("accepted");
      expect(await customersOf(world, "b")).toHaveLength(hours.length);
    });
    test("moves where none of them has waited for another", async () => {
      const { world, requests } = await withPasses(80, 10);
      const [over, runs] = requests;
      if (over === undefined || runs === undefined) throw new Error("There are two.");
      expect(await refusal(world.store(over, byCredential("b")))).toBe("accepted");
      expect(await refusal(world.store(runs, byCredential("b")))).toBe(STAYS);
    });
  });
  test("is judged by the account that a credential has linked, not by one that a client claimed", async () => {
    const sold = aProduct({
      store: "android-store",
      productIdentifier: "pass",
      accessDuration: period("P1D"),
    });
    const world = aWorld("when_inactive").selling(aCatalog([sold]));
    const pass = (key: string, startsAt: number) =>
      android(key, NOW, { productIdentifier: "pass", nature: "consumable", startsAt, endsAt: null });
    const [claimed, over] = [pass("claimed", NOW - 90 * DAY), pass("one", NOW - 30 * HOUR)];
    // Created first, so that it is found first.
    await world.at(NOW - 1).store({ purchases: [claimed] }, byClient("c"));
    for (const one of [over, pass("two", NOW - 29 * HOUR)])
      await world.store({ purchases: [one] }, byCredential("a"));
    expect(await refusal(world.store({ purchases: [claimed, over] }, byCredential("b")))).toBe(STAYS);
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("is recorded as transferred when it moves", async () => {
    const world = aWorld("always");
    const customer = await world.store({ purchases: [active] }, byCredential("a"));
    await world.at(NOW + 1).store({ purchases: [active] }, byCredential("b"));
    expect(await transfersOf(world)).toEqual([
      { customer: customer?.identifier, moment: NOW + 1, because: "policy" },
    ]);
    expect(await auditOf(world)).toEqual([]);
  });
});

test("customers of different accounts keep their links under every policy", async () => {
  const world = aWorld("always");
  const [one, other] = [
    await world.store({ purchases: [owned("1")] }, byCredential("a")),
    await world.store({ purchases: [owned("2")] }, byCredential("b")),
  ];
  for (const account of ["a", "c"])
    expect(await refusal(world.store({ purchases: [owned("1"), owned("2")] }, byCredential(account)))).toBe(
      "IDENTITY_CONFLICT",
    );
  expect(await customersOf(world, "a")).toEqual([one?.identifier]);
  expect(await customersOf(world, "b")).toEqual([other?.identifier]);
  expect(await transfersOf(world)).toEqual([]);
});

describe("more customers of one person than one transaction can merge", () => {
  const of = (count: number) => Array.from({ length: count }, (_, index) => owned(String(index)));
  /** Links each purchase to account a as a customer of its own. */
  const linkedApart = async (world: World, count: number): Promise<void> => {
    await Promise.all(of(count).map((purchase) => world.store({ purchases: [purchase] }, byCredential("a"))));
  };

  test.each([21, 22, 45])("move together: %s of them", async (count) => {
    const world = aWorld("always");
    await linkedApart(world, count);
    const facts = { identities: [device("1")], purchases: of(count) };
    const one = await world.store(facts, byCredential("b"));
    expect(one?.holdings).toHaveLength(count);
    expect(await customersOf(world, "a")).toEqual([]);
    expect(await customersOf(world, "b")).toEqual([one?.identifier]);
    expect(await world.store(facts, byCredential("b"))).toEqual(one);
  });
  test("move together with unlinked customers and with those that clients claimed for other accounts", async () => {
    const world = aWorld("always");
    await linkedApart(world, 25);
    const [claimed, free] = [owned("claimed"), owned("free")];
    await world.store({ purchases: [claimed] }, byClient("c"));
    await world.store({ purchases: [free] });
    const one = await world.store({ purchases: [...of(25), claimed, free] }, byCredential("b"));
    expect(one?.holdings).toHaveLength(27);
    for (const [account, customers] of [
      ["a", []],
      ["b", [one?.identifier]],
      ["c", []],
    ] as const)
      expect(await customersOf(world, account)).toEqual(customers);
  });
  test("stay in their account when the request is interrupted, and move when it is repeated", async () => {
    const world = aWorld("always");
    await linkedApart(world, 45);
    let written = 0;
    const killed = storeFacts(
      {
        ...world.factStore,
        write: async (change) => {
          if (written++ > 0) throw new Error("The function was killed.");
          return world.factStore.write(change);
        },
      },
      world.application,
      {
        environment: "production",
        identities: [],
        purchases: of(45).map((purchase) => proven(purchase)),
        renewals: [],
        acknowledgementDue: null,
        origin: null,
      },
      byCredential("b"),
    );
    await expect(killed).rejects.toThrow("killed");
    expect(await customersOf(world, "a")).toHaveLength(45 - ABSORBED_PER_TRANSACTION);
    expect(await customersOf(world, "b")).toEqual([]);
    const one = await world.store({ purchases: of(45) }, byCredential("b"));
    expect(await customersOf(world, "b")).toEqual([one?.identifier]);
  });
  test("are merged in their account when the link is refused", async () => {
    const world = aWorld("refuse");
    await linkedApart(world, 45);
    expect(await refusal(world.store({ purchases: of(45) }, byCredential("b")))).toBe(STAYS);
    expect(await customersOf(world, "a")).toHaveLength(1);
    expect((await world.store({ purchases: [owned("1")] }))?.holdings).toHaveLength(45);
    expect(await transfersOf(world)).toEqual([]);
  });
});

test("a client's claim that yields to a credential is recorded under every policy", async () => {
  const world = aWorld();
  const customer = await world.store({ purchases: [active] }, byClient("a"));
  await world.store({ purchases: [active] }, byCredential("b"));
  expect(await transfersOf(world)).toEqual([
    { customer: customer?.identifier, moment: NOW, because: "claim-gave-way" },
  ]);
});

test.each<[what: string, act: (world: World) => Promise<unknown>]>([
  ["a first link", (world) => world.store({ purchases: [owned("2")] }, byCredential("a"))],
  ["a replay", (world) => world.store({ purchases: [active] }, byCredential("a"))],
  ["a link that is refused", (world) => world.submit({ purchases: [active] }, byCredential("b"))],
  ["a merge in one account", (world) => world.store({ purchases: [active, owned("3")] })],
])("%s is not recorded as a transfer", async (_, act) => {
  const world = aWorld();
  await world.store({ purchases: [active] }, byCredential("a"));
  await world.store({ purchases: [owned("3")] }, byCredential("a"));
  await act(world);
  expect(await transfersOf(world)).toEqual([]);
});

describe("an operator's move", () => {
  test("takes the customer from one account to the other in one step and is recorded only in the audit", async () => {
    const world = aWorld();
    const customer = await world.store({ purchases: [active] }, byCredential("a"));
    expect(await world.unlink(customer, "b")).toEqual({ outcome: "unlinked", account: "a" });
    expect(await customersOf(world, "a")).toEqual([]);
    expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
    expect(await auditOf(world)).toMatchObject([
      { action: "move", customer: customer?.identifier, by: "ada" },
    ]);
    expect(await transfersOf(world)).toEqual([]);
  });
  test("counts as a credential's link", async () => {
    const world = aWorld();
    const customer = await world.store({ purchases: [active] }, byClient("a"));
    await world.unlink(customer, "b");
    for (const claim of [byClient("a"), byCredential("a")])
      expect(await refusal(world.store({ purchases: [active] }, claim))).toBe("CUSTOMER_ALREADY_LINKED");
  });
  test("links an unlinked customer", async () => {
    const world = aWorld();
    const customer = await world.store({ purchases: [active] });
    expect(await world.unlink(customer, "b")).toEqual({ outcome: "unlinked", account: null });
    expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
  });
  test("of a one-time purchase of which nothing was selected leaves it to the store's refund", async () => {
    const world = aWorld();
    const bought = { ...android("bought"), selectedProducts: [] };
    const facts = (selectedProducts: readonly string[]) => ({
      purchases: [{ ...bought, selectedProducts }],
      acknowledgementDue: anAcknowledgement(bought),
    });
    const customer = await world.store(facts([]));
    await world.unlink(customer, "a");
    expect(await world.store(facts([]))).toMatchObject({ acknowledgementDueSince: null });
    expect(await world.store(facts(["monthly"]), byCredential("a"))).toMatchObject({
      acknowledgementDueSince: NOW,
    });
  });
  test("that retries after a conflicting write reports the original account and is audited once", async () => {
    const world = aWorld();
    const customer = await world.store({ purchases: [active] }, byCredential("a"));
    const moved = await meetingAWriteAt(table, 1, () => world.unlink(customer, "b"));
    expect(moved).toEqual({ outcome: "unlinked", account: "a" });
    expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
    expect(await auditOf(world)).toHaveLength(1);
  });
  test("to the customer's own account changes nothing", async () => {
    const world = aWorld();
    const customer = await world.store({ purchases: [active] }, byCredential("a"));
    const before = await world.items();
    await world.unlink(customer, "a");
    expect(await world.items()).toEqual(before);
  });
});

test("when_inactive never moves a customer whose first request is only partly written", async () => {
  const world = aWorld("when_inactive");
  const many = Array.from({ length: 120 }, (_, index) => proven(owned(String(index))));
  const facts = { environment: "production", identities: [device("1")], purchases: many } as const;
  const killed = storeFacts(
    {
      ...world.factStore,
      write: async (change) => {
        const [TransactItems] = transactionsOf(table.name, change, new Set());
        await table.client.send(new TransactWriteCommand({ TransactItems }));
        throw new Error("The function was killed.");
      },
    },
    world.application,
    { ...facts, renewals: [], acknowledgementDue: null, origin: null },
    byCredential("a"),
  );
  await expect(killed).rejects.toThrow("killed");
  await assertInvariants(table);
  const another = { identities: [device("1")], purchases: [owned("ended", { endsAt: NOW - DAY })] };
  for (const _ of [1, 2]) expect(await refusal(world.store(another, byCredential("b")))).toBe(STAYS);
  // The same request again completes it.
  await world.store(facts, byCredential("a"));
  expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
});

describe("no item of a merged customer is left in the account", () => {
  test.each<[how: string, act: (world: World, one: Awaited<ReturnType<World["store"]>>) => Promise<unknown>]>(
    [
      ["after a transfer", (world) => world.store({ purchases: [owned("1")] }, byCredential("b"))],
      ["after an operator's move", (world, one) => world.unlink(one, "b")],
      ["after an unlinking", (world, one) => world.unlink(one)],
      ["after an erasure", (world, one) => world.erase(one)],
    ],
  )("%s", async (_, act) => {
    const world = aWorld("always");
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await world.store({ purchases: [owned("2")] }, byCredential("a"));
    const one = await world.store({ purchases: [owned("1"), owned("2")] });
    expect(await customersOf(world, "a")).toEqual([one?.identifier]);
    await act(world, one);
    expect((await world.items()).filter(({ pk }) => String(pk).endsWith("#ACCOUNT#a"))).toEqual([]);
  });
});
