import type { FactsOrigin } from "../../../lib/customers/asking/ask.ts";
import { holdingsAfter, joinWithStored } from "../../../lib/customers/storing/plan-customer-change.ts";
import type { StoredPurchase } from "../../../lib/customers/storing/records.ts";
import { MINUTE } from "../../../lib/duration.ts";
import { mentionedPurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { accountId, customerId, purchaseKey } from "../../../lib/identifiers.ts";
import {
  aCatalog,
  aLine,
  anAcknowledgement,
  aPurchase,
  DAY,
  NOW,
} from "../../../testing/support/stores/purchases.ts";
import {
  aCustomer,
  android,
  APPLICATION,
  device,
  knownFacts,
  LINK,
  NEW,
  OLD,
  plan,
  stored,
  type Given,
} from "../planning.ts";

test("a new customer gets an identifier, the link, the purchase and the identity", () => {
  const purchase = aPurchase();
  const { customer, change } = plan({
    facts: { identities: [device("1")], purchases: [purchase] },
    link: LINK,
  });
  const made = { identifier: NEW, createdAt: NOW, link: LINK, holdings: [purchase], hasPurchased: true };
  expect(customer).toEqual({ ...made, environment: "production" });
  expect(change).toMatchObject({
    application: APPLICATION,
    before: null,
    after: customer,
    absorbed: [],
    identities: [device("1")],
    purchases: [{ purchase, revision: 0, customer: NEW, acknowledgement: null, ask: null, move: null }],
    liftsErasures: false,
    tellsChanges: false,
    moment: NOW,
  });
});

describe("a known customer", () => {
  const purchase = aPurchase();
  const survivor = aCustomer({ holdings: [purchase] });
  const replay = {
    survivor,
    facts: { identities: [device("1")], purchases: [purchase] },
    known: [stored(purchase)],
    knownIdentities: [{ item: "1", customer: OLD, customerVersion: 1 }],
  };
  test("without anything new stays the same and needs no write", () => {
    const { identifier, environment, createdAt, link, holdings, hasPurchased } = survivor;
    expect(plan(replay)).toEqual({
      customer: { identifier, environment, createdAt, link, holdings, hasPurchased },
      toAcknowledge: null,
      change: null,
    });
  });

  test.each<[string, Given, object]>([
    ["an identity and a purchase", { knownIdentities: [null], known: [] }, { identities: [device("1")] }],
    ["an identity", { knownIdentities: [null] }, { identities: [device("1")], purchases: [] }],
    ["another account", { link: { ...LINK, account: accountId("user-2") } }, { purchases: [] }],
    ["no link", { link: null }, { purchases: [] }],
    ["a customer of the same person", { absorbed: [aCustomer({ identifier: customerId("third") })] }, {}],
    ["an unfinished move", { survivor: { ...survivor, unsettled: true } }, { purchases: [] }],
    ["the first purchase", { survivor: { ...survivor, hasPurchased: false } }, { purchases: [] }],
    [
      "newer facts",
      { known: [stored(aPurchase({ lines: [aLine({ verifiedAt: NOW - 5000 })] }))] },
      { purchases: [{ revision: 3, customer: OLD }] },
    ],
    // The purchase's revision is a condition of the write: it proves that the holdings match what is stored.
    [
      "a stored purchase that is not held",
      { survivor: { ...survivor, holdings: [] } },
      { purchases: [{ revision: 3 }] },
    ],
    [
      "a purchase that is held in an older state",
      { survivor: { ...survivor, holdings: [aPurchase({ lines: [aLine({ endsAt: NOW })] })] } },
      { purchases: [{ revision: 3 }] },
    ],
    [
      "a held purchase that should not be held",
      {
        facts: {},
        knownIdentities: [],
        catalog: aCatalog(),
        survivor: aCustomer({ holdings: [aPurchase({ lines: [] })] }),
      },
      { purchases: [] },
    ],
  ])("is written for %s", (_, changes, expected) => {
    expect(plan({ ...replay, ...changes }).change).toMatchObject(expected);
  });
  test("takes over the purchases of a customer it absorbs", () => {
    const other = aPurchase({ key: "2" });
    const { customer } = plan({
      survivor: aCustomer({ holdings: [purchase], hasPurchased: false }),
      absorbed: [aCustomer({ identifier: customerId("third"), holdings: [other] })],
    });
    expect(customer).toMatchObject({ identifier: OLD, holdings: [purchase, other], hasPurchased: true });
  });
});

test("purchases that will be held are written first", () => {
  const kept = ["2", "4"].map((key) => aPurchase({ key }));
  const coins = ["1", "3"].map((key) =>
    aPurchase({ key, lines: [aLine({ productIdentifier: "coins", nature: "consumable", endsAt: null })] }),
  );
  const { change } = plan({ facts: { purchases: [...coins, ...kept] } });
  expect(change?.purchases.map(({ purchase }) => purchase.key)).toEqual(["2", "4", "1", "3"]);
});

test("the holdings that owners would have keep what the store said later", () => {
  const held = aPurchase({ key: "held" });
  const [said, later] = [NOW - 5000, NOW].map((verifiedAt) =>
    aPurchase({ key: "said", lines: [aLine({ endsAt: verifiedAt + DAY, verifiedAt })] }),
  );
  if (said === undefined || later === undefined) throw new Error("There are two.");
  const owners = [aCustomer({ holdings: [held] })];
  expect(holdingsAfter([said], knownFacts([stored(later)]), owners, aCatalog())).toEqual([held, later]);
});

describe("an answer of Google's that repeats the last", () => {
  const answered = (verifiedAt: number, ...ends: readonly (number | null)[]): Purchase =>
    android({
      lines: ends.map((endsAt, index) =>
        aLine({ transactionIdentifier: null, productIdentifier: `p${index}`, endsAt, verifiedAt }),
      ),
    });
  const LATER = NOW + DAY;
  test.each<[what: string, ends: readonly (number | null)[], after: number, isReplay: boolean]>([
    ["within a minute is a replay", [LATER], MINUTE - 1, true],
    ["a minute later is none", [LATER], MINUTE, false],
    ["is none where a line has ended in between", [NOW + 10_000, null, NOW + 90_000], 30_000, false],
    ["is one where the line had ended before", [NOW - 10_000], 30_000, true],
    ["is one where the line ended as it was given first", [NOW], 30_000, true],
    ["is one where the line never ends", [null], 30_000, true],
  ])("%s", (_, ends, after, isReplay) => {
    const [first, again] = [answered(NOW, ...ends), answered(NOW + after, ...ends)];
    expect(joinWithStored(first, again)).toEqual(isReplay ? first : again);
  });

  test("and differs is stored at once", () => {
    const [first, again] = [answered(NOW, LATER), answered(NOW + 1, LATER + 1)];
    expect(joinWithStored(first, again)).toEqual(again);
  });
});

test("an outdated catalog that does not map a held purchase keeps it", () => {
  const unlock = android({
    key: "unlock",
    lines: [aLine({ transactionIdentifier: null, nature: "consumable", productIdentifier: "unlock" })],
  });
  const survivor = aCustomer({ holdings: [unlock] });
  const known = [stored(unlock)];
  expect(plan({ survivor, known, facts: { purchases: [unlock] } }).change).toBeNull();
  const { customer } = plan({ survivor, known, facts: { purchases: [aPurchase()] } });
  expect(customer.holdings).toContainEqual(expect.objectContaining({ key: "unlock" }));
});

describe("an acknowledgement", () => {
  const origin: FactsOrigin = {
    source: {
      store: "android-store",
      packageName: "com.example.trails",
      purchaseToken: "the-token",
      productKind: "subscription",
    },
    canAsk: true,
    askedAt: null,
  };
  const purchase = android();
  const due = anAcknowledgement(purchase);
  const since = NOW - 1000;
  const pending = { dueSince: since, deadline: due.deadline };
  const waiting = stored(purchase, {
    acknowledgement: pending,
    ask: { at: since + MINUTE, because: "acknowledgement" },
    bundleOrPackage: "com.example.trails",
  });
  const survivor = aCustomer({ holdings: [purchase] });
  /** The acknowledgements that purchases wait for after facts; a purchase that is not written keeps its own. */
  const pendingAfter = (given: Given, ...known: StoredPurchase[]) => {
    const facts = { origin, ...given.facts };
    const { change, toAcknowledge } = plan({ survivor, known, ...given, facts });
    const written = change?.purchases ?? known;
    return {
      isNow: toAcknowledge !== null,
      dueSince: written.map(({ acknowledgement }) => acknowledgement?.dueSince ?? null),
    };
  };

  test("becomes due with its purchase, and may be made now", () => {
    const facts = { purchases: [aPurchase(), purchase], acknowledgementDue: due };
    expect(pendingAfter({ facts })).toEqual({ isNow: true, dueSince: [NOW, null] });
  });
  test("waits while its customer has no account", () => {
    for (const unlinked of [null, aCustomer({ link: null })]) {
      const facts = { purchases: [purchase], acknowledgementDue: due };
      expect(pendingAfter({ survivor: unlinked, facts })).toEqual({ isNow: false, dueSince: [NOW] });
    }
  });
  test("keeps its first due time", () => {
    const facts = { purchases: [purchase], acknowledgementDue: due };
    expect(pendingAfter({ facts }, waiting)).toEqual({ isNow: true, dueSince: [since] });
  });
  test("is done once the store no longer waits for it", () => {
    const later = android({ lines: [aLine({ transactionIdentifier: null, verifiedAt: NOW + 1 })] });
    for (const said of [later, purchase])
      expect(pendingAfter({ facts: { purchases: [said] } }, waiting).dueSince).toEqual([null]);
  });

  test.each([NOW - 120_000, NOW + 120_000])("stays due after an answer without lines: %i", (verifiedAt) => {
    const facts = { purchases: [android({ lines: [], verifiedAt })] };
    expect(pendingAfter({ facts }, waiting).dueSince).toEqual([since]);
  });

  test("stays due where another purchase's becomes due, or replaces its own", () => {
    const other = android({ key: "2" });
    const acknowledgementDue = anAcknowledgement(other);
    expect(pendingAfter({ facts: { purchases: [other], acknowledgementDue } }, waiting).dueSince).toEqual([
      NOW,
    ]);
    const mentioned = mentionedPurchase(purchase, purchaseKey("2"));
    expect(
      pendingAfter({ facts: { purchases: [other, mentioned], acknowledgementDue } }, waiting).dueSince,
    ).toEqual([NOW, since]);
  });
});
