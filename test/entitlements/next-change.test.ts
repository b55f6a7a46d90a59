import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import type { Terms } from "../../lib/entitlements/timeline.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { nextChangeAt } from "../../lib/entitlements/entitlements.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, aPurchase, aRenewal, DAY, NOW, period } from "../support/purchases.ts";

const MINUTE = 60_000;
const LEEWAY = 15 * MINUTE;
const END = NOW + 20 * DAY;
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const SOMEBODY = customerId("00000000-0000-4000-8000-000000000001");

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ productIdentifier: "yearly" }),
  aProduct({ productIdentifier: "maps", grants: ["maps"] }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "season", accessDuration: period("P1M") }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ store: "android-store", productIdentifier: "monthly" }),
  aProduct({ store: "android-store", productIdentifier: "film", accessDuration: period("PT48H") }),
]);

const held = (...purchases: readonly Purchase[]): Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase }));

const termsOf = (renewalLeeway: number, catalog: Catalog = CATALOG): Terms => ({ catalog, renewalLeeway });

const toldAt = (moment: number, holdings: readonly Holding[], terms: Terms) =>
  entitlementsAt(moment, holdings, terms).map((entitlement) => ({ ...entitlement, lastVerifiedAt: null }));

/** Expects these changes, in this order and no other, each to the millisecond. */
const expectChanges = (
  expected: readonly number[],
  purchases: readonly Purchase[],
  { leeway = LEEWAY, from = NOW }: { readonly leeway?: number; readonly from?: number } = {},
): void => {
  const holdings = held(...purchases);
  const terms = termsOf(leeway);
  let before = from;
  for (const at of expected) {
    expect(nextChangeAt(before, holdings, terms)).toBe(at);
    expect(nextChangeAt(at - 1, holdings, terms)).toBe(at);
    expect(toldAt(at - 1, holdings, terms)).toEqual(toldAt(before, holdings, terms));
    expect(toldAt(at, holdings, terms)).not.toEqual(toldAt(at - 1, holdings, terms));
    before = at;
  }
  expect(nextChangeAt(before, holdings, terms)).toBeNull();
};

const subscription = (line: Partial<Line> = {}, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({ lines: [aLine(line)] }),
  ...purchase,
});
const renewing = (renewal: Partial<Renewal>, line: Partial<Line> = {}): Purchase =>
  subscription(line, { renewal: aRenewal(renewal) });
const ofGoogle = (line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase =>
  subscription(
    { transactionIdentifier: null, willRenew: true, ...line },
    { store: "android-store", ...purchase },
  );
const oneTime = (key: string, line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({
    key,
    lines: [
      aLine({
        transactionIdentifier: key,
        productIdentifier: "pass",
        nature: "non_renewing",
        startsAt: NOW,
        endsAt: null,
        ...line,
      }),
    ],
  }),
  ...purchase,
});
const FOREVER = oneTime("forever", { productIdentifier: "forever", nature: "non_consumable" });

type Row = [rule: string, expected: readonly number[], purchases: readonly Purchase[]];

test.each<Row>([
  ["nothing", [], []],
  ["a lifetime", [], [FOREVER]],
  ["a product that the catalog does not map", [], [subscription({ productIdentifier: "other" })]],
  ["a purchase that has ended", [], [subscription({ endsAt: NOW })]],
  ["a subscription without an end", [], [subscription({ endsAt: null })]],
  ["a revoked purchase before its end", [], [subscription({ revokedAt: NOW })]],
  ["a purchase revoked without a date", [], [subscription({ standing: "revoked" })]],
  ["a line that the store called expired", [], [subscription({ standing: "expired" })]],
  ["a subscription that Google called paused", [], [ofGoogle({ standing: "paused" })]],
  ["a payment that Google retries", [], [ofGoogle({ standing: "billing_retry" })]],
  [
    "a purchase replaced as a whole",
    [],
    [subscription({}, { replacedBy: purchaseKey("2"), replacedAt: null })],
  ],
])("nothing changes by time alone: %s", (_, expected, purchases) => {
  expectChanges(expected, purchases);
});

describe("starts and ends", () => {
  test.each<Row>([
    ["a period ends at its end", [END], [subscription()]],
    [
      "a period begins a minute before its start, as clocks differ",
      [NOW + DAY - MINUTE, END],
      [subscription({ startsAt: NOW + DAY })],
    ],
    ["a period has begun a minute before its start", [END], [subscription({ startsAt: NOW + MINUTE })]],
    [
      "a period begins a minute and a millisecond ahead",
      [NOW + 1, END],
      [subscription({ startsAt: NOW + MINUTE + 1 })],
    ],
    ["a period without a start has begun", [END], [subscription({ startsAt: null, verifiedAt: NOW + DAY })]],
    [
      "a purchase is revoked at a date ahead, and its end then changes nothing",
      [NOW + DAY],
      [subscription({ revokedAt: NOW + DAY })],
    ],
    ["a purchase is revoked after its end", [END, END + DAY], [subscription({ revokedAt: END + DAY })]],
    [
      "a paused subscription is revoked at a date ahead",
      [NOW + DAY],
      [ofGoogle({ standing: "paused", revokedAt: NOW + DAY })],
    ],
    ["the last instant is one", [LAST_INSTANT], [subscription({ endsAt: LAST_INSTANT })]],
  ])("%s", (_, expected, purchases) => {
    expectChanges(expected, purchases);
  });

  test("a change after the last instant never comes", () => {
    expectChanges([], [renewing({ periodEndsAt: LAST_INSTANT }, { endsAt: LAST_INSTANT })]);
  });
});

describe("after the end of a subscription that renews", () => {
  test.each<Row>([
    ["the leeway ends, and no end is told before", [END + LEEWAY], [renewing({})]],
    ["there is no leeway where it does not renew", [END], [renewing({ willRenew: false })]],
    [
      "there is no leeway where the store spoke after it",
      [END],
      [renewing({ signedAt: END, expirationIntent: 2 })],
    ],
    ["the leeway ends where the store has not decided", [END + LEEWAY], [renewing({ signedAt: END + 1 })]],
    [
      "the leeway ends where the store speaks of a later end",
      [END + LEEWAY],
      [renewing({ periodEndsAt: END + 30 * DAY, willRenew: false, signedAt: END + 1 })],
    ],
    [
      "a grace period begins and ends",
      [END, END + 6 * DAY],
      [renewing({ graceEndsAt: END + 6 * DAY, signedAt: END })],
    ],
    [
      "a grace period is followed by retries, for 60 days from the end",
      [END, END + 6 * DAY, END + 60 * DAY],
      [renewing({ graceEndsAt: END + 6 * DAY, isInBillingRetry: true, signedAt: END })],
    ],
    [
      "retries end after 60 days",
      [END, END + 60 * DAY],
      [renewing({ isInBillingRetry: true, signedAt: END })],
    ],
    [
      "a grace period of more than 60 days is followed by nothing",
      [END, END + 61 * DAY],
      [renewing({ graceEndsAt: END + 61 * DAY, isInBillingRetry: true, signedAt: END })],
    ],
    [
      "retries that were announced before the end follow the leeway",
      [END + LEEWAY, END + 60 * DAY],
      [renewing({ isInBillingRetry: true })],
    ],
    [
      "a grace period is followed by the rest of the leeway",
      [END, END + MINUTE, END + LEEWAY],
      [renewing({ graceEndsAt: END + MINUTE })],
    ],
    [
      "a revocation ends the grace period",
      [END, END + DAY],
      [renewing({ graceEndsAt: END + 6 * DAY, signedAt: END }, { revokedAt: END + DAY })],
    ],
    ["Google's leeway ends", [END + LEEWAY], [ofGoogle({})]],
    ["Google's leeway ends, of a grace period", [END + LEEWAY], [ofGoogle({ standing: "grace_period" })]],
    ["Google's cancelled subscription has no leeway", [END], [ofGoogle({ willRenew: false })]],
    ["Google's silent grace period ends after 48 hours", [END + 2 * DAY], [ofGoogle({ verifiedAt: END })]],
  ])("%s", (_, expected, purchases) => {
    expectChanges(expected, purchases);
  });

  test.each<Row>([
    ["of the App Store", [END], [renewing({})]],
    ["of Google", [END], [ofGoogle({})]],
    ["that is retried silently", [END + 2 * DAY], [ofGoogle({ verifiedAt: END })]],
  ])("an application without a leeway has none: a subscription %s", (_, expected, purchases) => {
    expectChanges(expected, purchases, { leeway: 0 });
  });
});

describe("replacements", () => {
  const AT = NOW + 5 * DAY;
  const replaced = { replacedBy: purchaseKey("2"), replacedAt: AT };

  test.each<Row>([
    ["a line is gone from its replacement on", [AT], [subscription({}, replaced)]],
    ["a lifetime is gone too", [AT], [{ ...FOREVER, ...replaced }]],
    [
      "a line that ends before its replacement is expired in between",
      [NOW + DAY, AT],
      [subscription({ endsAt: NOW + DAY }, replaced)],
    ],
    [
      "a line that starts at the replacement is gone",
      [AT - MINUTE, AT],
      [subscription({ startsAt: AT }, replaced)],
    ],
    [
      "a line that starts at the replacement stays where the two replace each other",
      [AT - MINUTE, END],
      [
        subscription({ startsAt: AT }, replaced),
        aPurchase({ key: "2", lines: [], replacedBy: purchaseKey("1"), replacedAt: AT }),
      ],
    ],
    [
      "a line that starts after the replacement stays",
      [AT + 1 - MINUTE, END],
      [subscription({ startsAt: AT + 1 }, replaced)],
    ],
    [
      "a transaction that was moved stays, and lasts longer without the one that took its place",
      [NOW + 3 * DAY - MINUTE, NOW + 3 * DAY, AT, END],
      [
        aPurchase({
          ...replaced,
          lines: [
            aLine({ verifiedAt: NOW }),
            aLine({
              transactionIdentifier: "2",
              productIdentifier: "maps",
              startsAt: NOW + 3 * DAY,
              endsAt: NOW + 9 * DAY,
            }),
          ],
        }),
        aPurchase({ key: "2", lines: [aLine({ verifiedAt: NOW - 1000 })] }),
      ],
    ],
    [
      "a pass that is gone gives its time to the next",
      [NOW + DAY / 2, NOW + 1.5 * DAY],
      [
        oneTime("1", { startsAt: NOW - DAY / 4 }, { ...replaced, replacedAt: NOW + DAY / 2 }),
        oneTime("2", { startsAt: NOW + DAY / 2 }),
      ],
    ],
    ["Google gives no date", [END], [ofGoogle({ willRenew: false }, replaced)]],
  ])("%s", (_, expected, purchases) => {
    expectChanges(expected, purchases);
  });
});

describe("passes", () => {
  test.each<Row>([
    ["one lasts its duration", [NOW + DAY], [oneTime("1", {})]],
    ["a quantity lasts as many times longer", [NOW + 3 * DAY], [oneTime("1", { quantity: 3 })]],
    [
      "refunded units do not last",
      [NOW + 2 * DAY],
      [oneTime("1", { quantity: 3, refundedQuantity: 1,})],
    ],
    [
      "the next one begins a minute before the end of the one before, which then changes nothing",
      [NOW + DAY - MINUTE, NOW + 2 * DAY],
      [oneTime("1", {}), oneTime("2", { startsAt: NOW + 1 })],
    ],
    [
      "the next one begins at the refund of the one before",
      [NOW + DAY / 2 - MINUTE, NOW + 1.5 * DAY],
      [oneTime("1", { revokedAt: NOW + DAY / 2 }), oneTime("2", { startsAt: NOW + 1 })],
    ],
    [
      "one that waits and has no start is there already",
      [NOW + 2 * DAY],
      [oneTime("1", {}), oneTime("2", { startsAt: null, verifiedAt: NOW + 1 })],
    ],
    [
      "a month ends on the same day of the next",
      [Date.UTC(2026, 6, 15, 12)],
      [oneTime("1", { productIdentifier: "season" })],
    ],
    [
      "a month from the last day ends on the last day of a shorter one",
      [Date.UTC(2026, 7, 31) - MINUTE, Date.UTC(2026, 8, 30)],
      [oneTime("1", { productIdentifier: "season", startsAt: Date.UTC(2026, 7, 31) })],
    ],
    [
      "a rental lasts its duration",
      [NOW + 2 * DAY],
      [
        ofGoogle({
          productIdentifier: "film",
          nature: "consumable",
          rented: true,
          willRenew: null,
          startsAt: NOW,
          endsAt: null,
        }),
      ],
    ],
  ])("%s", (_, expected, purchases) => {
    expectChanges(expected, purchases);
  });
});

describe("of several purchases", () => {
  const another = (key: string, line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase =>
    subscription({ transactionIdentifier: key, ...line }, { key: purchaseKey(key), ...purchase });

  test.each<Row>([
    [
      "each entitlement changes by itself",
      [NOW + DAY, END],
      [subscription(), another("2", { productIdentifier: "maps", endsAt: NOW + DAY })],
    ],
    [
      "the end of one that another outlasts changes nothing",
      [END],
      [subscription(), another("2", { endsAt: NOW + DAY })],
    ],
    ["nothing changes beside a lifetime", [], [FOREVER, renewing({}), oneTime("1", {})]],
    [
      "one of production hides one of the sandbox until it has ended",
      [NOW + DAY, END],
      [another("1", { endsAt: NOW + DAY }), another("2", {}, { environment: "sandbox" })],
    ],
    [
      "retries are shown once the other has ended",
      [NOW + DAY, NOW + 59 * DAY],
      [
        renewing({ periodEndsAt: NOW - DAY, isInBillingRetry: true, signedAt: NOW }, { endsAt: NOW - DAY }),
        another("2", { endsAt: NOW + DAY }),
      ],
    ],
    [
      "an upgrade takes the place of a period from a minute before its start",
      [NOW + DAY - MINUTE, END + 30 * DAY],
      [
        aPurchase({
          lines: [
            aLine(),
            aLine({
              transactionIdentifier: "2",
              productIdentifier: "yearly",
              startsAt: NOW + DAY,
              endsAt: END + 30 * DAY,
            }),
          ],
        }),
      ],
    ],
    [
      "a change of `lastVerifiedAt` alone is none",
      [END + 2 * DAY],
      [
        ofGoogle({ verifiedAt: END }, { key: purchaseKey("2") }),
        ofGoogle({ verifiedAt: NOW }, { key: purchaseKey("1") }),
      ],
    ],
  ])("%s", (_, expected, purchases) => {
    expectChanges(expected, purchases);
  });
});

describe("many purchases that are not shown", () => {
  const passes = (count: number): Purchase[] =>
    Array.from({ length: count }, (_, index) => oneTime(`pass ${index}`, { startsAt: NOW + index }));

  test("change nothing, if they are dozens", () => {
    expectChanges([], [FOREVER, ...passes(50)]);
  });

  test("are read a bounded number of times if they are many more, and the next call goes on", () => {
    const holdings = held(FOREVER, ...passes(124));
    let read = 0;
    const terms = termsOf(LEEWAY, {
      ...CATALOG,
      productOf: (...line) => {
        read += 1;
        return CATALOG.productOf(...line);
      },
    });
    const told = toldAt(NOW, holdings, terms);
    read = 0;
    const first = nextChangeAt(NOW, holdings, terms);
    expect(read).toBe(161 * 125);
    // Each pass begins and ends, and a call passes 160 instants.
    expect(first).toBeGreaterThan(NOW);
    expect(toldAt(first ?? 0, holdings, terms)).toEqual(told);
    expect(nextChangeAt(first ?? 0, holdings, terms)).toBeNull();
  });
});
