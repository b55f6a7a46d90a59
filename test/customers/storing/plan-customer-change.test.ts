import { holdingsAfter, joinWithStored } from "../../../lib/customers/storing/plan-customer-change.ts";
import type { StoredPurchase } from "../../../lib/customers/storing/records.ts";
import { MINUTE } from "../../../lib/duration.ts";
import { mentionedPurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { customerId, purchaseKey } from "../../../lib/identifiers.ts";
import {
  aCatalog,
  aLine,
  anAcknowledgement,
  aPurchase,
  DAY,
  NOW,
} from "../../../testing/support/stores/purchases.ts";
import { aCustomer, android, knownFacts, OLD, plan, stored, type Given } from "../planning.ts";
import { fromGoogle } from "../refreshing.ts";
import { device } from "../../../testing/support/world.ts";

describe("a known customer", () => {
  const purchase = aPurchase();
  const survivor = aCustomer({ holdings: [purchase] });
  const replay = { survivor, facts: { purchases: [purchase] }, known: [stored(purchase)] };

  // The purchase's revision is a condition of the write: it proves that the holdings match what is stored.
  const revised = { purchases: [{ revision: 3, customer: OLD }] };
  test.each<[string, Given, object]>([
    ["an identity", { identities: [device("1")] }, { identities: [device("1")], purchases: [] }],
    ["a customer of the same person", { absorbed: [aCustomer({ identifier: customerId("third") })] }, {}],
    ["an unfinished move", { survivor: { ...survivor, unsettled: true } }, { purchases: [] }],
    ["the first purchase", { survivor: { ...survivor, hasPurchased: false } }, { purchases: [] }],
    ["newer facts", { known: [stored(aPurchase({ lines: [aLine({ verifiedAt: NOW - 5000 })] }))] }, revised],
    ["a stored purchase that is not held", { survivor: { ...survivor, holdings: [] } }, revised],
    [
      "a purchase that is held in an older state",
      { survivor: { ...survivor, holdings: [aPurchase({ lines: [aLine({ endsAt: NOW })] })] } },
      revised,
    ],
    [
      "a held purchase that should not be held",
      { facts: {}, survivor: aCustomer({ holdings: [aPurchase({ lines: [] })] }) },
      { purchases: [] },
    ],
  ])("is written for %s", (_, changes, expected) => {
    expect(plan(replay).change).toBeNull();
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
  const purchase = android();
  const due = anAcknowledgement(purchase);
  const since = NOW - 1000;
  const waiting = stored(purchase, {
    acknowledgement: { dueSince: since, deadline: due.deadline },
    ask: { at: since + MINUTE, because: "acknowledgement" },
    bundleOrPackage: "com.example.trails",
  });
  const survivor = aCustomer({ holdings: [purchase] });
  const unlinked = { survivor: aCustomer({ link: null }) };
  const linked = { purchases: [purchase], acknowledgementDue: due };
  const empty = (verifiedAt: number) => ({ purchases: [android({ lines: [], verifiedAt })] });
  const later = android({ lines: [aLine({ transactionIdentifier: null, verifiedAt: NOW + 1 })] });
  const other = android({ key: "2" });
  const beside = (...purchases: readonly Purchase[]) => ({
    purchases: [other, ...purchases],
    acknowledgementDue: anAcknowledgement(other),
  });
  const replaced = mentionedPurchase(purchase, purchaseKey("2"));
  const elsewhere = { ...fromGoogle().source, packageName: "com.example.other" };

  test.each<
    [
      rule: string,
      facts: Given["facts"],
      known: readonly StoredPurchase[],
      isNow: boolean,
      since: readonly (number | null)[],
      changes?: Given,
    ]
  >([
    [
      "becomes due with its purchase",
      { ...linked, purchases: [aPurchase(), purchase] },
      [],
      true,
      [NOW, null],
    ],
    ["waits while its customer has no account", linked, [], false, [NOW], unlinked],
    ["waits while it has no customer", linked, [], false, [NOW], { survivor: null }],
    ["keeps its first due time", linked, [waiting], true, [since]],
    [
      "waits while the account has none of its products",
      { ...linked, purchases: [android({ selectedProducts: [] })] },
      [],
      false,
      [NOW],
    ],
    [
      "stays due after an answer about another package",
      { purchases: [later], origin: fromGoogle("the-token", { source: elsewhere }) },
      [waiting],
      false,
      [since],
    ],
    ["is done once a later answer has none", { purchases: [later] }, [waiting], false, [null]],
    ["is done once the same answer has none", { purchases: [purchase] }, [waiting], false, [null]],
    ["stays due after an earlier answer without lines", empty(NOW - 120_000), [waiting], false, [since]],
    ["stays due after a later answer without lines", empty(NOW + 120_000), [waiting], false, [since]],
    ["stays due where another purchase's becomes due", beside(), [waiting], true, [NOW]],
    ["stays due where that replaces its own", beside(replaced), [waiting], true, [NOW, since]],
  ])("%s", (_, given, known, isNow, expected, changes = {}) => {
    const facts = { origin: fromGoogle(), ...given };
    const { change, toAcknowledge } = plan({ survivor, known, facts, ...changes });
    // A purchase that is not written keeps its own.
    const pending = (change?.purchases ?? known).map(
      ({ acknowledgement }) => acknowledgement?.dueSince ?? null,
    );
    expect([toAcknowledge !== null, pending]).toEqual([isNow, expected]);
  });
});
