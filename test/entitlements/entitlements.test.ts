import fc from "fast-check";
import * as z from "zod/mini";
import { customerEntitlement, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import {
  bestSpans,
  entitlementsAt,
  lastAccess,
  mayReturn,
  nextChangeAt,
} from "../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { STANDINGS, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { timelineOf } from "../../lib/entitlements/timeline.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  NOW,
  period,
} from "../../testing/support/purchases.ts";
import { aPeriod, at, CUSTOMER, held, MINUTE } from "./history.ts";

const OTHER = customerId("00000000-0000-4000-8000-000000000002");
const LEEWAY = 15 * MINUTE;

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ productIdentifier: "yearly" }),
  aProduct({ productIdentifier: "maps", grants: ["maps"] }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ store: "android-store" }),
]);
const termsOf = (catalog = CATALOG, renewalLeeway = LEEWAY) => ({ catalog, renewalLeeway });

const answer = (purchases: readonly Purchase[], catalog = CATALOG, moment = NOW): CustomerEntitlement[] =>
  entitlementsAt(moment, held(...purchases), termsOf(catalog));

describe("an entry", () => {
  test("has exactly the fourteen fields, in their documented types", () => {
    const [entitlement] = answer([aPurchase()]);
    expect(entitlement).toEqual({
      identifier: "premium",
      displayName: "Premium",
      productIdentifier: "monthly",
      environment: "production",
      status: "active",
      active: true,
      startsAt: isoTime(at(-10)),
      expiresAt: isoTime(at(20)),
      revokedAt: null,
      lastVerifiedAt: isoTime(NOW - 1000),
      store: "ios-store",
      productKind: "subscription",
      customerIdentifier: CUSTOMER,
      willRenew: null,
    });
    expect(z.strictObject(customerEntitlement().shape).safeParse(entitlement).error).toBeUndefined();
  });

  test.each<[what: string, line: Partial<Line>, expected: Partial<CustomerEntitlement>]>([
    [
      "a lifetime has no end",
      { productIdentifier: "forever", nature: "non_consumable", endsAt: null },
      { productKind: "one_time_product", active: true, expiresAt: null },
    ],
    [
      "a refund shows its time, and ends the access",
      { revokedAt: at(-1) },
      { status: "revoked", active: false, expiresAt: isoTime(at(-1)), revokedAt: isoTime(at(-1)) },
    ],
    ["a refund to come is not shown", { revokedAt: at(1) }, { status: "active", revokedAt: null }],
    [
      "a start after the end is not shown",
      { startsAt: at(-1), endsAt: at(-2) },
      { status: "expired", startsAt: null, expiresAt: isoTime(at(-2)) },
    ],
    ["the end is in the past once it is over", { endsAt: at(-1) }, { status: "expired", active: false }],
  ])("%s", (_, line, expected) => {
    expect(answer([aPurchase({ lines: [aLine(line)] })])).toMatchObject([expected]);
  });

  test("shows the identifier where the catalog has no name", () => {
    expect(answer([aPurchase()], aCatalog([aProduct()], {}))).toMatchObject([{ displayName: "premium" }]);
  });

  test("shows what the renewal info says", () => {
    const renewal = aRenewal({ willRenew: false, signedAt: NOW });
    expect(answer([aPurchase({ renewal })])).toMatchObject([
      { willRenew: false, lastVerifiedAt: isoTime(NOW) },
    ]);
  });
});

describe("the answer", () => {
  test("has an entry for each entitlement of a product, sorted by identifier", () => {
    const catalog = aCatalog([aProduct({ grants: ["z", "a", "Z"] })]);
    expect(answer([aPurchase()], catalog).map(({ identifier }) => identifier)).toEqual(["Z", "a", "z"]);
  });

  test("changes with the catalog", () => {
    expect(answer([aPurchase()], aCatalog([]))).toEqual([]);
    expect(answer([aPurchase()], aCatalog([aProduct({ grants: ["other"] })]))).toMatchObject([
      { identifier: "other", active: true },
    ]);
  });

  test("shows an upgrade in place of what it ended", () => {
    const upgrade = aPeriod("2", "yearly", -1, 364);
    expect(answer([aPurchase({ lines: [aLine(), upgrade] })])).toMatchObject([
      { productIdentifier: "yearly", expiresAt: isoTime(at(364)) },
    ]);
  });

  test("has no entry before a minute ahead of the start", () => {
    const purchase = aPurchase({ lines: [aLine({ startsAt: NOW })] });
    expect(answer([purchase], CATALOG, NOW - MINUTE - 1)).toEqual([]);
    expect(answer([purchase], CATALOG, NOW - MINUTE)).toMatchObject([{ active: true }]);
  });
});

describe("of several purchases that grant an entitlement the best is shown:", () => {
  type By = Holding["assertedBy"];
  const of = (
    key: string,
    line: Partial<Line>,
    { by = null, ...purchase }: { by?: By } & Parameters<typeof aPurchase>[0] = {},
  ): Holding => ({
    customerIdentifier: CUSTOMER,
    assertedBy: by,
    purchase: aPurchase({
      key,
      lines: [aLine({ transactionIdentifier: purchase.store === "android-store" ? null : key, ...line })],
      ...purchase,
    }),
  });
  const google = { store: "android-store" } as const;
  const lifetime = { nature: "non_consumable", endsAt: null } as const;
  const over = (days: number) => ({ startsAt: at(-90), endsAt: at(-days) });
  const paused = { standing: "paused" } as const;
  const inRetry = { standing: "billing_retry" } as const;

  test.each<[rule: string, better: Holding, worse: Holding]>([
    [
      "active before inactive",
      of("9", { endsAt: NOW + 1 }, { environment: "xcode", by: "client" }),
      of("1", { ...paused, endsAt: at(9) }, { ...google, by: "credential" }),
    ],
    [
      "a grace period is active",
      of("9", { standing: "grace_period", endsAt: NOW + 1 }, google),
      of("1", inRetry, google),
    ],
    [
      "production before sandbox",
      of("9", { endsAt: NOW + 1 }),
      of("1", lifetime, { environment: "sandbox" }),
    ],
    [
      "sandbox before Xcode",
      of("9", { endsAt: NOW + 1 }, { environment: "sandbox" }),
      of("1", lifetime, { environment: "xcode" }),
    ],
    [
      "production before sandbox, where both have ended",
      of("9", over(9), google),
      of("1", paused, { ...google, environment: "sandbox" }),
    ],
    ["a lifetime before any end", of("9", lifetime), of("1", { endsAt: at(9999) })],
    ["the later end", of("9", { endsAt: NOW + 2 }), of("1", { endsAt: NOW + 1 })],
    [
      "whoever linked it, where it is active",
      of("9", { endsAt: NOW + 2 }, { by: "client" }),
      of("1", { endsAt: NOW + 1 }, { by: "credential" }),
    ],
    [
      "a retry before a lifetime that was refunded",
      of("9", { ...inRetry, ...over(1) }, google),
      of("1", { ...lifetime, startsAt: at(-400), revokedAt: at(-300) }),
    ],
    [
      "a pause before what ended later",
      of("9", { ...paused, ...over(20) }, google),
      of("1", over(1), google),
    ],
    [
      "a client's retry before a credential's end",
      of("9", { ...inRetry, ...over(20) }, { ...google, by: "client" }),
      of("1", over(1), { ...google, by: "credential" }),
    ],
    [
      "a credential's retry before a client's pause",
      of("9", { ...inRetry, ...over(20) }, { ...google, by: "credential" }),
      of("1", { ...paused, ...over(1) }, { ...google, by: "client" }),
    ],
    [
      "a credential's end before a client's",
      of("9", over(20), { by: "credential" }),
      of("1", over(1), { by: "client" }),
    ],
    ["an unlinked one's like a client's", of("1", over(1), { by: "client" }), of("9", over(2))],
    [
      "the later end, where a refund ended a lifetime",
      of("9", over(299)),
      of("1", { ...lifetime, startsAt: at(-400), revokedAt: at(-300) }),
    ],
    [
      "the later end, where a refund ended a lifetime since",
      of("9", { ...lifetime, startsAt: at(-400), revokedAt: at(-300) }),
      of("1", { startsAt: at(-350), endsAt: at(-301) }),
    ],
    [
      "the later end, where the refund came after it",
      of("9", over(19)),
      of("1", { ...over(20), revokedAt: at(-1) }),
    ],
    [
      "the later end, where an undated refund ended at the start",
      of("9", over(80)),
      of("1", { ...lifetime, nature: "consumable", standing: "revoked", startsAt: at(-81) }, google),
    ],
    [
      "a refund without a date before what ended earlier",
      of("9", { ...lifetime, nature: "consumable", standing: "revoked", startsAt: at(-79) }, google),
      of("1", over(80)),
    ],
    ["then the later start", of("9", { startsAt: NOW - 1 }), of("1", { startsAt: NOW - 2 })],
    [
      "then the later start, where both have ended",
      of("9", { startsAt: at(-8), endsAt: at(-1) }),
      of("1", { startsAt: at(-9), endsAt: at(-1) }),
    ],
    ["a start before none", of("9", { startsAt: 0 }, google), of("1", { startsAt: null }, google)],
    [
      "then the smaller key, whatever its transaction",
      of("1", { transactionIdentifier: "9" }),
      { ...of("2", { transactionIdentifier: "8" }), customerIdentifier: OTHER },
    ],
    [
      "then the Android store",
      of("1", {}, google),
      { ...of("1", { transactionIdentifier: "" }), customerIdentifier: OTHER },
    ],
  ])("%s", (_, better, worse) => {
    const terms = termsOf(aCatalog([aProduct(), aProduct({ store: "android-store" })]), 0);
    const both = entitlementsAt(NOW, [better, worse], terms);
    expect(both).toHaveLength(1);
    expect(both).toEqual(entitlementsAt(NOW, [better], terms));
    expect(JSON.stringify(entitlementsAt(NOW, [worse, better], terms))).toBe(JSON.stringify(both));
  });

  test("of one purchase the smaller product, then the earlier line", () => {
    const lines = [
      aLine({ productIdentifier: "monthly", transactionIdentifier: null, event: "b" }),
      aLine({ productIdentifier: "monthly", transactionIdentifier: null, event: "a" }),
      aLine({ productIdentifier: "basic", transactionIdentifier: "9" }),
    ];
    const catalog = aCatalog(
      ["monthly", "basic"].map((productIdentifier) =>
        aProduct({ store: "android-store", productIdentifier }),
      ),
    );
    const best = (count: number, order: readonly Line[]) =>
      [
        ...bestSpans(
          timelineOf(
            held(aPurchase({ store: "android-store", lines: order.slice(0, count) })),
            termsOf(catalog),
          ),
        ).values(),
      ].map(({ line }) => line.event);
    expect(best(3, lines)).toEqual(["event 9"]);
    expect(best(3, lines.toReversed())).toEqual(["event 9"]);
    expect(best(2, lines)).toEqual(["a"]);
    expect(best(2, lines.slice(0, 2).toReversed())).toEqual(["a"]);
  });

  test("an entry names the customer whose purchase it is", () => {
    const holdings = [of("1", {}), { ...of("2", lifetime), customerIdentifier: OTHER }];
    expect(entitlementsAt(NOW, holdings, termsOf())).toMatchObject([{ customerIdentifier: OTHER }]);
  });
});

test.each([
  ["active", false],
  ["grace_period", false],
  ["billing_retry", true],
  ["paused", true],
  ["expired", false],
  ["revoked", false],
] as const)("access may return by itself from %s: %s", (status, may) => {
  const [span] = timelineOf(held(aPurchase()), termsOf());
  if (span === undefined) throw new Error("There is one.");
  expect(mayReturn({ ...span, status })).toBe(may);
});

test("a refund without date and start sorts before any other end", () => {
  const line = aLine({ standing: "revoked", startsAt: null, transactionIdentifier: null });
  const spans = timelineOf(held(aPurchase({ store: "android-store", lines: [line] })), termsOf());
  expect(spans.map(lastAccess)).toEqual([0]);
});

const toldAt = (moment: Instant, holdings: readonly Holding[], renewalLeeway = LEEWAY) =>
  entitlementsAt(moment, holdings, termsOf(CATALOG, renewalLeeway)).map((entry) => ({
    ...entry,
    lastVerifiedAt: null,
  }));

describe("the next change of the answer by time alone", () => {
  /** Expects these changes, in days from now, in this order and no other. */
  const expectChanges = (purchases: readonly Purchase[], ...expected: readonly Instant[]): void => {
    const holdings = held(...purchases);
    let before = NOW;
    for (const change of expected) {
      for (const moment of [before, change - 1])
        expect(nextChangeAt(moment, holdings, termsOf())).toBe(change);
      expect(toldAt(change, holdings)).not.toEqual(toldAt(change - 1, holdings));
      before = change;
    }
    expect(nextChangeAt(before, holdings, termsOf())).toBeNull();
  };
  const pass = (key: string, startsAt = NOW): Purchase => {
    const line = { productIdentifier: "pass", nature: "non_renewing", endsAt: null } as const;
    return aPurchase({ key, lines: [aLine({ transactionIdentifier: key, ...line, startsAt })] });
  };
  const FOREVER = aPurchase({
    key: "forever",
    lines: [aLine({ productIdentifier: "forever", nature: "non_consumable", endsAt: null })],
  });
  const renewing = (more: Partial<Renewal> = {}) => aPurchase({ renewal: aRenewal(more) });
  const another = (line: Partial<Line>, more: Partial<Purchase> = {}) =>
    aPurchase({ lines: [aLine({ transactionIdentifier: "2", ...line })], ...more, key: "2" });
  const END = at(20);

  test.each<[rule: string, purchases: readonly Purchase[], changes: readonly Instant[]]>([
    ["is none without purchases", [], []],
    ["is none of a lifetime", [FOREVER], []],
    ["is none of what is over", [aPurchase({ lines: [aLine({ endsAt: NOW })] })], []],
    ["is the end", [aPurchase()], [END]],
    [
      "is a minute before the start, then the end",
      [aPurchase({ lines: [aLine({ startsAt: at(1) })] })],
      [at(1) - MINUTE, END],
    ],
    ["is the end of the leeway, and not the end before", [renewing()], [END + LEEWAY]],
    [
      "is each status after the end",
      [renewing({ graceEndsAt: at(26), isInBillingRetry: true, signedAt: END })],
      [END, at(26), at(80)],
    ],
    [
      "is the refund, and not the end after it",
      [aPurchase({ lines: [aLine({ revokedAt: at(1) })] })],
      [at(1)],
    ],
    [
      "is that of another entitlement, too",
      [aPurchase(), another({ productIdentifier: "maps", endsAt: at(1) })],
      [at(1), END],
    ],
    ["is none of what another outlasts", [aPurchase(), another({ endsAt: at(1) })], [END]],
    [
      "is the end of production before the sandbox is shown",
      [another({}, { environment: "sandbox" }), aPurchase({ lines: [aLine({ endsAt: at(1) })] })],
      [at(1), END],
    ],
    [
      "is where the next pass begins, a minute early",
      [pass("1"), pass("2", NOW + 1)],
      [at(1) - MINUTE, at(2)],
    ],
    [
      "is none of `lastVerifiedAt` alone",
      [
        another(
          { transactionIdentifier: null, willRenew: true, verifiedAt: END },
          { store: "android-store" },
        ),
        aPurchase({
          store: "android-store",
          lines: [aLine({ transactionIdentifier: null, willRenew: true })],
        }),
      ],
      [at(22)],
    ],
  ])("%s", (_, purchases, changes) => {
    expectChanges(purchases, ...changes);
  });

  test("beside fifty boundaries that change nothing is one of them", () => {
    const passes = (count: number) =>
      Array.from({ length: count }, (_, index) => pass(`p${index}`, NOW + index));
    // Each pass has an end, and the start of the next is a minute before it.
    expect(nextChangeAt(NOW, held(FOREVER, ...passes(25)), termsOf())).toBeNull();
    const next = nextChangeAt(NOW, held(FOREVER, ...passes(26)), termsOf());
    expect(next).toBe(at(26));
    expect(nextChangeAt(next ?? 0, held(FOREVER, ...passes(26)), termsOf())).toBeNull();
    const maps = another({ productIdentifier: "maps", endsAt: at(300) });
    expect(nextChangeAt(NOW, held(maps, FOREVER, ...passes(26)), termsOf())).toBe(at(26));
    expect(nextChangeAt(at(26), held(maps, FOREVER, ...passes(26)), termsOf())).toBe(at(300));
  });
});

/** Half-days around now, sometimes a little beside, so that times often meet. */
const instant: fc.Arbitrary<Instant> = fc
  .tuple(fc.integer({ min: -40, max: 40 }), fc.constantFrom(0, 0, 0, -1, 1, MINUTE, -MINUTE))
  .map(([halfDays, beside]) => at(halfDays / 2) + beside);
const rarely = <T, U>(rare: fc.Arbitrary<T>, usual: U): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 1, arbitrary: rare }, { weight: 5, arbitrary: fc.constant(usual) });

const NATURES = {
  monthly: "auto_renewable",
  yearly: "auto_renewable",
  maps: "auto_renewable",
  pass: "non_renewing",
  forever: "non_consumable",
} as const;

const anyLine: fc.Arbitrary<Line> = fc
  .record({
    transactionIdentifier: fc.constantFrom("1", "2", "3", "4"),
    event: fc.constantFrom("a", "b", "c"),
    productIdentifier: fc.constantFrom(...(Object.keys(NATURES) as (keyof typeof NATURES)[])),
    standing: rarely(fc.constantFrom(...STANDINGS), "entitled" as const),
    startsAt: instant,
    days: fc.constantFrom(0, 0.5, 1, 10),
    revokedAt: rarely(instant, null),
    revokedSince: rarely(instant, null),
    willRenew: fc.constantFrom(null, true),
    signed: fc.constantFrom(-1, 0, 0.5),
  })
  .map(({ days, signed, ...line }) => {
    const nature = NATURES[line.productIdentifier];
    return aLine({
      ...line,
      nature,
      purchasedAt: line.startsAt,
      endsAt: nature === "auto_renewable" ? line.startsAt + days * DAY : null,
      verifiedAt: line.startsAt + (days + signed) * DAY,
    });
  });

const anyRenewal: fc.Arbitrary<Renewal> = fc.record({
  periodEndsAt: fc.option(instant, { nil: null }),
  willRenew: fc.boolean(),
  graceEndsAt: fc.option(instant, { nil: null }),
  isInBillingRetry: fc.boolean(),
  expirationIntent: rarely(fc.constant(1), null),
  signedAt: instant,
  renewsInto: fc.constant(null),
  status: fc.constant(null),
});

const anyHoldings: fc.Arbitrary<readonly Holding[]> = fc
  .array(
    fc.record({
      store: fc.constantFrom("ios-store" as const, "ios-store" as const, "android-store" as const),
      environment: rarely(fc.constant("sandbox" as const), "production" as const),
      lines: fc.uniqueArray(anyLine, {
        selector: (one) => one.transactionIdentifier,
        minLength: 1,
        maxLength: 3,
      }),
      renewal: fc.option(anyRenewal, { nil: null }),
      replacedAt: rarely(instant, null),
    }),
    { maxLength: 3 },
  )
  .map((purchases) =>
    held(
      ...purchases.map(({ replacedAt, ...purchase }, index) =>
        aPurchase({
          ...purchase,
          key: String(index),
          replacedBy: replacedAt === null ? null : purchaseKey("9"),
          replacedAt,
        }),
      ),
    ),
  );

test(
  "the answer changes at each next change and at no moment between",
  () => {
    fc.assert(
      fc.property(anyHoldings, fc.array(instant, { maxLength: 20 }), (holdings, moments) => {
        let from = at(-60);
        for (let left = 60; left > 0; left -= 1) {
          const next = nextChangeAt(from, holdings, termsOf());
          const told = toldAt(from, holdings);
          const last = Math.min(next ?? Infinity, at(300));
          for (const moment of [...moments.filter((one) => from <= one && one < last), last - 1])
            expect(toldAt(moment, holdings)).toEqual(told);
          if (next === null) return;
          expect(toldAt(next, holdings)).not.toEqual(told);
          from = next;
        }
        throw new Error("The changes come to no end.");
      }),
      cases(200, 20_000),
    );
  },
  TIMEOUT,
);
