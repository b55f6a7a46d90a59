import { mayBeActive, withUnmapped } from "../../lib/entitlements/inactivity.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
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

const HOUR = DAY / 24;
const MINUTE = HOUR / 60;
const CATALOG = aCatalog([
  aProduct({ store: "ios-store", productIdentifier: "basic" }),
  aProduct({ store: "android-store", productIdentifier: "basic" }),
]);
const customerIdentifier = customerId("00000000-0000-7000-8000-000000000001");

const active = (moment: number, ...purchases: readonly Purchase[]): boolean =>
  mayBeActive(
    moment,
    purchases.map((purchase) => ({ customerIdentifier, assertedBy: null, purchase })),
    CATALOG,
  );
/** The first moment, to the millisecond, from which a purchase counts as inactive, among these. */
const inactiveFrom = (purchase: Purchase, ...moments: readonly number[]): number | undefined =>
  moments.find((moment) => {
    expect(active(moment - 1, purchase)).toBe(true);
    return !active(moment, purchase);
  });

const plan = (id: string, startsAt: number, endsAt: number, more: Partial<Line> = {}): Line =>
  aLine({
    transactionIdentifier: id,
    event: `w${id}`,
    productIdentifier: "basic",
    startsAt,
    endsAt,
    verifiedAt: startsAt,
    ...more,
  });
const refundedAt = (at: number) => ({ revokedAt: at, revokedSince: at, refundedBy: at });
const END = NOW + 20 * DAY;

test("nothing is inactive", () => {
  expect(active(NOW)).toBe(false);
  expect(active(NOW, aPurchase({ lines: [] }))).toBe(false);
});

test("what runs is active until a day after its end, one of several suffices", () => {
  const runs = aPurchase({ lines: [plan("1", NOW - DAY, END)] });
  expect(inactiveFrom(runs, END + DAY)).toBe(END + DAY);
  const over = aPurchase({ key: "2", lines: [plan("2", NOW - 90 * DAY, NOW - 60 * DAY)] });
  expect(active(NOW, over)).toBe(false);
  expect(active(NOW, over, runs)).toBe(true);
});

describe("of whose renewal nothing is said", () => {
  test("a subscription period is active for a day after its end, whatever the store said of the one before", () => {
    const [first, second] = [plan("1", NOW - 40 * DAY, NOW - 10 * DAY), plan("2", NOW - 10 * DAY, END)];
    const said = { periodEndsAt: NOW - 10 * DAY, willRenew: false, signedAt: NOW - 10 * DAY };
    const purchase = { ...aPurchase({ lines: [first, second] }), renewal: aRenewal(said) };
    expect(inactiveFrom(purchase, END, END + DAY)).toBe(END + DAY);
  });
  test("a pass, or a subscription of Google's, is over at its end", () => {
    const pass = aCatalog([
      aProduct({ store: "ios-store", productIdentifier: "basic", accessDuration: period("P2D") }),
    ]);
    const bought = aPurchase({
      lines: [plan("1", NOW - 2 * DAY, NOW, { nature: "non_renewing", endsAt: null })],
    });
    const may = (moment: number) =>
      mayBeActive(moment, [{ customerIdentifier, assertedBy: null, purchase: bought }], pass);
    expect([may(NOW - 1), may(NOW)]).toEqual([true, false]);
    const google = aPurchase({ store: "android-store", lines: [plan("1", NOW - 30 * DAY, NOW)] });
    expect([active(NOW - 1, google), active(NOW, google)]).toEqual([true, false]);
  });
});

test("a grace period is active, and billing retry is not", () => {
  const failing = (more: Parameters<typeof aRenewal>[0]) => ({
    ...aPurchase({ lines: [plan("1", NOW - 31 * DAY, NOW - DAY)] }),
    renewal: aRenewal({ periodEndsAt: NOW - DAY, isInBillingRetry: true, signedAt: NOW - DAY, ...more }),
  });
  expect(active(NOW, failing({ graceEndsAt: NOW + DAY }))).toBe(true);
  expect(active(NOW, failing({}))).toBe(false);
});

describe("what the catalog does not map", () => {
  const unmapped = (store: Purchase["store"], more: Partial<Line>) =>
    aPurchase({ store, lines: [plan("1", NOW - 400 * DAY, END, { productIdentifier: "new", ...more })] });

  test("is active while the store has not ended it", () => {
    expect(inactiveFrom(unmapped("ios-store", {}), END + DAY)).toBe(END + DAY);
    expect(active(NOW, unmapped("android-store", { standing: "expired" }))).toBe(false);
    for (const nature of ["non_consumable", "non_renewing"] as const) {
      expect(active(NOW, unmapped("ios-store", { nature, endsAt: null }))).toBe(true);
      expect(active(NOW, unmapped("ios-store", { nature, endsAt: null, ...refundedAt(NOW - DAY) }))).toBe(
        false,
      );
    }
  });
  test("of rentals is active for a year, also where the catalog gives them no length", () => {
    const rent = { nature: "consumable", endsAt: null, rented: true } as const;
    const rented = (productIdentifier: string, startsAt: number) =>
      unmapped("android-store", { ...rent, productIdentifier, startsAt });
    for (const product of ["new", "basic"]) {
      expect(active(NOW, rented(product, NOW - 364 * DAY))).toBe(true);
      expect(active(NOW, rented(product, NOW - 366 * DAY))).toBe(false);
    }
  });
  test("of rentals is none where the catalog gives them a length", () => {
    const sold = aCatalog([
      aProduct({ store: "android-store", productIdentifier: "film", accessDuration: period("P2D") }),
    ]);
    const rented = unmapped("android-store", {
      nature: "consumable",
      endsAt: null,
      rented: true,
      productIdentifier: "film",
      startsAt: NOW - 3 * DAY,
    });
    expect(mayBeActive(NOW, [{ customerIdentifier, assertedBy: null, purchase: rented }], sold)).toBe(false);
  });
  test("of consumables is active in Google's store alone", () => {
    expect(active(NOW, unmapped("android-store", { nature: "consumable", endsAt: null }))).toBe(true);
    expect(active(NOW, unmapped("ios-store", { nature: "consumable", endsAt: null }))).toBe(false);
  });
  test("is a product by its own name, with its base plan or purchase option, beside the mapped ones", () => {
    const { productOf } = withUnmapped(CATALOG);
    expect(productOf("ios-store", { productIdentifier: "basic" })).toBe(CATALOG.products[0]);
    expect(
      productOf("android-store", {
        productIdentifier: "new",
        basePlanIdentifier: "p",
        purchaseOptionIdentifier: "o",
      }),
    ).toEqual({
      store: "android-store",
      productIdentifier: "new",
      basePlanIdentifier: "p",
      purchaseOptionIdentifier: "o",
      grants: ["new"],
      accessDuration: null,
    });
    expect(productOf("ios-store", { productIdentifier: "new" })).toMatchObject({
      basePlanIdentifier: null,
      purchaseOptionIdentifier: null,
    });
  });
  test("does not make a mapped pass last longer", () => {
    const catalog = aCatalog([aProduct({ productIdentifier: "pass", accessDuration: period("P1D") })]);
    const pass = aPurchase({
      lines: [
        plan("1", NOW - 2 * DAY, 0, { productIdentifier: "pass", nature: "non_renewing", endsAt: null }),
      ],
    });
    expect(mayBeActive(NOW, [{ customerIdentifier, assertedBy: null, purchase: pass }], catalog)).toBe(false);
  });
});

describe("a period that begins later", () => {
  const running = plan("1", NOW - 29 * DAY, NOW + DAY, refundedAt(NOW - DAY));
  const renewal = (more: Partial<Line> = {}) =>
    plan("2", NOW + DAY, NOW + 31 * DAY, { verifiedAt: NOW - HOUR, ...more });

  test("is active from its charge on", () => {
    expect(active(NOW, aPurchase({ lines: [running, renewal()] }))).toBe(true);
  });
  test("is not, once it was refunded", () => {
    expect(active(NOW, aPurchase({ lines: [running, renewal(refundedAt(NOW))] }))).toBe(false);
  });
});

describe("an end that only the renewal info names", () => {
  const ended = plan("1", NOW - 35 * DAY, NOW - 5 * DAY);
  const named = (more: Parameters<typeof aRenewal>[0] = {}, ...lines: readonly Line[]): Purchase => ({
    ...aPurchase({ lines: [ended, ...lines] }),
    renewal: aRenewal({ periodEndsAt: END, signedAt: NOW - HOUR, ...more }),
  });

  test("is active until then, and for a day if it was to renew", () => {
    expect(inactiveFrom(named({ willRenew: false }), END)).toBe(END);
    expect(inactiveFrom(named({ willRenew: true }), END + DAY)).toBe(END + DAY);
  });
  test("is not in billing retry, nor where it names none", () => {
    expect(active(NOW, named({ isInBillingRetry: true }))).toBe(false);
    expect(active(NOW, named({ periodEndsAt: null, willRenew: false }))).toBe(false);
    const graceOf = (periodEndsAt: number | null) => ({
      ...aPurchase({ lines: [{ ...ended, ...refundedAt(NOW - 20 * DAY) }] }),
      renewal: aRenewal({ periodEndsAt, isInBillingRetry: true, graceEndsAt: END, signedAt: NOW - HOUR }),
    });
    expect(active(NOW, graceOf(null))).toBe(false);
    expect(active(NOW, graceOf(NOW - DAY))).toBe(true);
  });
  test("is that of a period that is known, and was refunded, to the minute", () => {
    const known = (endsAt: number) => plan("2", NOW - 5 * DAY, endsAt, refundedAt(NOW - HOUR));
    const [before, after] = [END - MINUTE, END + MINUTE];
    for (const endsAt of [before, END, after]) expect(active(NOW, named({}, known(endsAt)))).toBe(false);
    for (const endsAt of [before - 1, after + 1]) expect(active(NOW, named({}, known(endsAt)))).toBe(true);
    const lifetime = plan("3", NOW - 5 * DAY, END, { nature: "non_consumable", endsAt: null });
    expect(active(NOW, named({}, lifetime))).toBe(true);
  });
  const year = (id: string, more: Partial<Line> = {}) =>
    plan(id, NOW - 100 * DAY, END + 300 * DAY, {
      productIdentifier: "year",
      event: "w2",
      verifiedAt: NOW,
      ...more,
    });
  test.each<[what: string, lines: readonly Line[]]>([
    ["a year that was refunded since", [year("2", refundedAt(NOW))]],
    ["a year that was refunded before", [year("2", refundedAt(NOW - 50 * DAY))]],
    ["an upgraded year", [year("2", { standing: "expired" })]],
    ["a refunded year, and its restored copy", [year("2", refundedAt(NOW - 50 * DAY)), year("3")]],
    ["an upgraded year, and its restored copy", [year("2", { standing: "expired" }), year("3")]],
    [
      "an upgrade that is refunded",
      [plan("3", NOW - HOUR + 1, END + 30 * DAY, { productIdentifier: "plus", ...refundedAt(NOW) })],
    ],
    [
      "a renewal that was charged ahead, and refunded after the start that an upgrade overtook",
      [plan("2", NOW - 5 * DAY, END + 25 * DAY, { ...refundedAt(NOW - 4.8 * DAY), verifiedAt: NOW })],
    ],
  ])("counts beside what ends later, which may have been left for it: %s", (_, lines) => {
    expect(active(NOW, named({}, ...lines))).toBe(true);
    expect(inactiveFrom(named({ willRenew: false }, ...lines), END)).toBe(END);
  });
  test("counts beside a year that was left for another lineage, after which the person came back", () => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: NOW - 50 * DAY };
    expect(active(NOW, { ...named({}, year("2")), ...replaced })).toBe(true);
  });
  test("is not that of what was charged ahead, and refunded before it began", () => {
    const ahead = plan("2", END, END + 30 * DAY, { ...refundedAt(NOW), verifiedAt: NOW });
    expect(active(NOW, named({}, ahead))).toBe(true);
  });
  test("is known by the end of any of its ids", () => {
    const both = [
      plan("2", NOW - 5 * DAY, END, { event: "w2", ...refundedAt(NOW - 2 * DAY) }),
      plan("3", NOW - 5 * DAY, END + 7 * DAY, { event: "w2", ...refundedAt(NOW - 2 * DAY) }),
    ];
    expect(active(NOW, named({}, ...both))).toBe(false);
  });
  test("is active in the grace period after it, and not later", () => {
    const failing = named({ periodEndsAt: NOW - DAY, isInBillingRetry: true, graceEndsAt: END });
    expect(inactiveFrom(failing, END)).toBe(END);
  });
  test("says nothing of Google's purchases", () => {
    expect(active(NOW, { ...named(), store: "android-store" })).toBe(true);
    const over = aPurchase({
      store: "android-store",
      lines: [plan("1", NOW - 35 * DAY, END, { standing: "expired" })],
    });
    expect(active(NOW, over)).toBe(false);
  });
  test("counts no more where another lineage replaced this one two days after it was named, or later", () => {
    const named = (signedAt: number) =>
      aPurchase({
        lines: [plan("1", NOW - 60 * DAY, NOW - 30 * DAY)],
        renewal: aRenewal({ periodEndsAt: END, signedAt }),
        replacedBy: purchaseKey("9"),
        replacedAt: NOW - 5 * DAY,
      });
    expect(active(NOW, named(NOW - 7 * DAY))).toBe(false);
    // It may be a renewal that was charged ahead, or that of somebody who came back.
    expect(active(NOW, named(NOW - 7 * DAY + 1))).toBe(true);
    // The other one is charged ahead.
    expect(active(NOW - 5 * DAY - 1, named(NOW - 7 * DAY))).toBe(true);
  });
});

describe("a refunded period that is to renew, or may be", () => {
  const REFUNDED = END - 15 * DAY;
  const refunded = (renewal: Parameters<typeof aRenewal>[0] = {}, ...lines: readonly Line[]): Purchase => ({
    ...aPurchase({
      lines: [plan("1", NOW - 10 * DAY, END, { ...refundedAt(REFUNDED), verifiedAt: REFUNDED }), ...lines],
    }),
    renewal: aRenewal({ periodEndsAt: END, signedAt: REFUNDED, ...renewal }),
  });

  test("may have been charged for the next one from two days before its end, and is until a day after it", () => {
    expect(active(END - 2 * DAY - 1, refunded())).toBe(false);
    for (const moment of [END - 2 * DAY, END, END + DAY - 1]) expect(active(moment, refunded())).toBe(true);
    expect(active(END + DAY, refunded())).toBe(false);
  });
  test("also where the store names no end", () => {
    const unnamed = refunded({ periodEndsAt: null });
    expect(active(END - 2 * DAY - 1, unnamed)).toBe(false);
    for (const moment of [END - 2 * DAY, END, END + DAY - 1]) expect(active(moment, unnamed)).toBe(true);
    expect(active(END + DAY, unnamed)).toBe(false);
  });
  test("also where the store said so before the refund", () => {
    expect(active(END, refunded({ signedAt: REFUNDED - 1 }))).toBe(true);
  });
  test("is inactive where the store said that it will not renew, or has not been paid", () => {
    const named = [{ willRenew: false }, { isInBillingRetry: true }];
    for (const said of [...named, ...named.map((one) => ({ ...one, periodEndsAt: null }))])
      for (const moment of [END - HOUR, END]) expect(active(moment, refunded(said))).toBe(false);
  });
  test("also where nothing is known of its renewal, as the renewal info is of the period before it, or of none", () => {
    const before = aRenewal({ periodEndsAt: NOW - 10 * DAY, willRenew: false, signedAt: NOW - 10 * DAY - 1 });
    for (const renewal of [null, before]) {
      expect(active(END - 2 * DAY - 1, { ...refunded(), renewal })).toBe(false);
      expect(inactiveFrom({ ...refunded(), renewal }, END + DAY)).toBe(END + DAY);
    }
    // Its word on the period before, also after that one's end, is none on this one; any other since it began is.
    const since = { ...before, signedAt: NOW - 9 * DAY };
    const known = plan("0", NOW - 40 * DAY, NOW - 10 * DAY);
    expect(active(END, { ...refunded({}, known), renewal: since })).toBe(true);
    expect(active(END, { ...refunded(), renewal: since })).toBe(false);
  });
  test("is inactive where nothing is known of its renewal, and what began since did", () => {
    const unknown = (...lines: readonly Line[]) => ({ ...refunded({}, ...lines), renewal: null });
    const next = plan("2", NOW - 9 * DAY, END - DAY, refundedAt(NOW - 8 * DAY));
    expect(active(END, unknown(next))).toBe(false);
    expect(active(END, unknown({ ...next, ...refundedAt(NOW - 9 * DAY) }))).toBe(true);
    // Charged ahead, and overtaken, it says nothing.
    const overtaken = plan("3", NOW - 9 * DAY, NOW + 21 * DAY, {
      productIdentifier: "other",
      verifiedAt: NOW - 8 * DAY,
      standing: "expired",
    });
    const before = plan("0", NOW - 39 * DAY, NOW - 9 * DAY, { productIdentifier: "other" });
    expect(active(END, unknown(before, overtaken))).toBe(true);
  });
  test("may be followed by the next one also where it was charged ahead, and refunded before it began", () => {
    const lines = [plan("0", NOW - 30 * DAY, NOW), plan("1", NOW, END, refundedAt(NOW - HOUR))];
    expect(inactiveFrom(aPurchase({ lines }), END + DAY)).toBe(END + DAY);
    expect(active(END - 2 * DAY - 1, aPurchase({ lines }))).toBe(false);
    const upgrade = plan("2", NOW, END + 60 * DAY, { ...refundedAt(NOW + DAY), productIdentifier: "plus" });
    expect(active(END, aPurchase({ lines: [...lines, upgrade] }))).toBe(false);
  });
  test("is named by its end to the minute", () => {
    const later = plan("2", NOW - 9 * DAY, NOW - 8 * DAY);
    const named = (periodEndsAt: number) => active(END, refunded({ periodEndsAt }, later));
    for (const difference of [-MINUTE, 1, MINUTE]) expect(named(END + difference)).toBe(true);
  });
  test("is named by its end under any of its ids", () => {
    const extended = plan("2", NOW - 10 * DAY, END, { event: "w1", verifiedAt: NOW - 9 * DAY });
    const [copy] = refunded().lines;
    if (copy === undefined) throw new Error("It was refunded.");
    const both = [{ ...copy, endsAt: END - 7 * DAY }, extended];
    expect(active(END, { ...refunded(), lines: both })).toBe(true);
    expect(active(END, { ...refunded({ willRenew: false }), lines: both })).toBe(false);
    expect(active(END, { ...refunded(), lines: both, renewal: null })).toBe(true);
  });
  test("also beside a period that was charged ahead, and overtaken by it", () => {
    const charged = plan("2", END - 14 * DAY, END + 16 * DAY, {
      ...refundedAt(REFUNDED),
      productIdentifier: "month",
    });
    expect(active(END, refunded({}, charged))).toBe(true);
  });
  test("is inactive where it was upgraded, and the upgrade is refunded, too", () => {
    const upgraded = aPurchase({
      lines: [
        plan("1", NOW - 10 * DAY, END, {
          ...refundedAt(REFUNDED),
          standing: "expired",
          verifiedAt: REFUNDED,
        }),
        plan("2", NOW - 5 * DAY, END + 3 * DAY, { ...refundedAt(REFUNDED), productIdentifier: "plus" }),
      ],
      renewal: aRenewal({ periodEndsAt: END, signedAt: REFUNDED }),
    });
    expect(active(END, upgraded)).toBe(false);
  });
  test("is inactive where what came after is known, and refunded, or another lineage replaced it", () => {
    const next = (startsAt: number) => plan("2", startsAt, END + 30 * DAY, refundedAt(END));
    expect(active(END, refunded({}, next(END)))).toBe(false);
    expect(active(END, refunded({}, next(END - 1)))).toBe(true);
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: END - 5 * DAY };
    expect(active(END, { ...refunded(), ...replaced })).toBe(false);
  });
});

describe("a subscription of Google's whose payment is missing", () => {
  const held = (standing: Line["standing"], store: Purchase["store"] = "android-store") => ({
    ...aPurchase({ lines: [plan("1", NOW - 35 * DAY, NOW - 5 * DAY, { standing, verifiedAt: NOW })] }),
    store,
  });
  test("is inactive from ten minutes after its end where Google calls it over then: it may renew a minute after it said so", () => {
    const over = (verifiedAt: number) => ({
      ...held("expired"),
      lines: [plan("1", NOW - 30 * DAY, NOW, { standing: "expired", verifiedAt })],
    });
    for (const moment of [NOW, NOW + 10 * MINUTE - 1]) expect(active(moment, over(NOW))).toBe(true);
    expect(active(NOW + 10 * MINUTE, over(NOW))).toBe(false);
    const early = NOW - 10 * MINUTE;
    for (const moment of [early, NOW]) expect(active(moment, over(early))).toBe(true);
    for (const moment of [early, NOW]) expect(active(moment, over(early - 1))).toBe(false);
    expect(active(NOW, { ...over(NOW), replacedBy: purchaseKey("9") })).toBe(false);
    const onHold = plan("2", NOW - 30 * DAY, NOW, { standing: "billing_retry", verifiedAt: NOW });
    expect(active(NOW, { ...over(NOW), lines: [...over(NOW).lines, onHold] })).toBe(false);
  });
  test.each(["billing_retry", "paused"] as const)(
    "is inactive for ten minutes after Google has said so: %s; then its recovery may be unheard",
    (standing) => {
      for (const moment of [NOW, NOW + 10 * MINUTE - 1]) expect(active(moment, held(standing))).toBe(false);
      for (const moment of [NOW + 10 * MINUTE, NOW + DAY]) expect(active(moment, held(standing))).toBe(true);
      // Google knows it no more.
      expect(inactiveFrom({ ...held(standing), verifiedAt: NOW }, NOW + 60 * DAY)).toBe(NOW + 60 * DAY);
      expect(active(NOW + DAY, held(standing, "ios-store"))).toBe(false);
    },
  );
  test("is inactive where Google has said that it is over", () => {
    expect(active(NOW + DAY, held("expired"))).toBe(false);
  });
  test("is inactive where another purchase took its place", () => {
    expect(active(NOW + DAY, { ...held("paused"), replacedBy: purchaseKey("9") })).toBe(false);
  });
});

describe("a purchase that Google says was replaced", () => {
  const replaced = (more: Partial<Purchase> = {}): Purchase => ({
    ...aPurchase({
      store: "android-store",
      lines: [plan("1", END - 30 * DAY, END, { standing: "expired" })],
    }),
    isReplaced: true,
    ...more,
  });
  test("counts until Google drops it, while nobody has told of the other one", () => {
    expect(inactiveFrom(replaced(), END + 60 * DAY)).toBe(END + 60 * DAY);
    expect(active(END + HOUR, replaced({ isReplaced: undefined }))).toBe(false);
    expect(active(END + HOUR, replaced({ replacedBy: purchaseKey("9") }))).toBe(false);
    expect(active(END + HOUR, replaced({ lines: [] }))).toBe(false);
  });
});

describe("a period that only seems to have ended early", () => {
  // A year bought after a month was charged ahead: with the period before unknown, the month looks like a change from the year.
  const month = plan("1", NOW - 35 * DAY, NOW - 5 * DAY, { verifiedAt: NOW - 36 * DAY });
  const year = (more: Partial<Line> = {}) =>
    plan("2", NOW - 35.5 * DAY, END, { productIdentifier: "year", ...more });

  test("is active until its own end, and for a day if it may be renewed", () => {
    const known = (willRenew: boolean) => ({
      ...aPurchase({ lines: [month, year()] }),
      renewal: aRenewal({ periodEndsAt: NOW - 5 * DAY, willRenew, signedAt: NOW - 36 * DAY }),
    });
    expect(inactiveFrom(known(false), END)).toBe(END);
    for (const purchase of [known(true), aPurchase({ lines: [month, year()] })])
      expect(inactiveFrom(purchase, END + DAY)).toBe(END + DAY);
  });
  test("is not where it was refunded, or another lineage replaced it", () => {
    expect(active(NOW, aPurchase({ lines: [month, year(refundedAt(NOW - 36 * DAY))] }))).toBe(false);
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: NOW - 10 * DAY };
    expect(active(NOW, aPurchase({ lines: [month, year()], ...replaced }))).toBe(false);
  });
});

describe("an upgrade of which only the mark is known", () => {
  const marked = (more: Partial<Line> = {}) =>
    plan("1", NOW - 10 * DAY, END, { standing: "expired", verifiedAt: NOW - HOUR, ...more });
  const over = (id: string, startsAt: number, more: Partial<Line> = {}) =>
    plan(id, startsAt, NOW - 2 * DAY, { ...refundedAt(NOW - 3 * DAY), productIdentifier: "plus", ...more });

  test("is active until a day after the end of what it replaced", () => {
    expect(inactiveFrom(aPurchase({ lines: [marked()] }), END + DAY)).toBe(END + DAY);
    expect(active(NOW, aPurchase({ lines: [over("0", NOW - 11 * DAY), marked()] }))).toBe(true);
  });
  test("is known where a period began later, or another product with it", () => {
    for (const productIdentifier of ["plus", "basic"])
      expect(
        active(NOW, aPurchase({ lines: [marked(), over("2", NOW - 9 * DAY, { productIdentifier })] })),
      ).toBe(false);
    expect(active(NOW, aPurchase({ lines: [marked(), over("2", NOW - 10 * DAY)] }))).toBe(false);
    expect(
      active(
        NOW,
        aPurchase({ lines: [marked(), over("2", NOW - 10 * DAY, { productIdentifier: "basic" })] }),
      ),
    ).toBe(true);
  });
  test("is known, and over, though a restored copy of what it replaced lacks the mark", () => {
    const year = plan("1", NOW - 100 * DAY, NOW + 265 * DAY, {
      standing: "expired",
      verifiedAt: NOW - 90 * DAY,
    });
    const restored = { ...year, transactionIdentifier: "3", standing: "entitled", verifiedAt: NOW } as const;
    const upgrade = plan("2", NOW - 90 * DAY, NOW - 60 * DAY, { productIdentifier: "plus" });
    const over = aRenewal({ periodEndsAt: NOW - 60 * DAY, willRenew: false, signedAt: NOW - 59 * DAY });
    const lines = [{ ...restored, event: "w1" }, year, upgrade];
    expect(active(NOW, { ...aPurchase({ lines }), renewal: over })).toBe(false);
  });
  test("is not known, though another id of what it replaced is refunded without the mark", () => {
    const since = { standing: "entitled", ...refundedAt(NOW - HOUR), verifiedAt: NOW } as const;
    const refunded = marked({ transactionIdentifier: "2", ...since });
    expect(active(NOW, aPurchase({ lines: [marked({ verifiedAt: NOW - 2 * HOUR }), refunded] }))).toBe(true);
  });
  test("is not known where what is marked was refunded before it began", () => {
    const charged = plan("1", NOW + DAY, END, { standing: "expired", ...refundedAt(NOW - HOUR) });
    expect(active(NOW, aPurchase({ lines: [charged] }))).toBe(true);
  });
  test("is not known where the one that began with it is marked too", () => {
    const other = marked({ transactionIdentifier: "2", event: "w2", productIdentifier: "plus" });
    expect(active(NOW, aPurchase({ lines: [marked(), other] }))).toBe(true);
  });
  test("is known where another lineage replaced this one since", () => {
    const replaced = (replacedAt: number) => ({ replacedBy: purchaseKey("9"), replacedAt });
    expect(active(NOW, aPurchase({ lines: [marked()], ...replaced(NOW - 10 * DAY) }))).toBe(false);
    // The person came back to this one, and upgraded.
    expect(active(NOW, aPurchase({ lines: [marked()], ...replaced(NOW - 10 * DAY - 1) }))).toBe(true);
  });
  test("is not known from what was charged ahead, and never ran", () => {
    const before = plan("0", NOW - 40 * DAY, NOW - 9.8 * DAY);
    const charged = plan("2", NOW - 9.8 * DAY, NOW + 20 * DAY, { verifiedAt: NOW - 10.5 * DAY });
    const plus = marked({ productIdentifier: "plus" });
    expect(active(NOW, aPurchase({ lines: [before, charged, plus] }))).toBe(true);
    // Nor from its own mark, once the upgrade is known.
    const upgrade = plan("3", NOW - 10.5 * DAY, END, {
      productIdentifier: "plus",
      ...refundedAt(NOW - 3 * DAY),
    });
    const overtaken = { ...charged, standing: "expired" } as const;
    expect(active(NOW, aPurchase({ lines: [before, overtaken, upgrade] }))).toBe(false);
    // Apple refunds it at the upgrade.
    const given = { ...charged, ...refundedAt(NOW - 10 * DAY), verifiedAt: NOW - 10 * DAY };
    const old = plan("1", NOW - 40 * DAY, NOW - 0.5 * DAY, {
      standing: "expired",
      verifiedAt: NOW - 10 * DAY,
    });
    expect(active(NOW, aPurchase({ lines: [old, { ...given, startsAt: NOW - 0.5 * DAY }] }))).toBe(true);
  });
  test("is known, and over, though a restored copy of what it replaced begins later", () => {
    const year = marked({ startsAt: NOW - 100 * DAY });
    const restored = { ...year, transactionIdentifier: "3", startsAt: NOW - 50 * DAY };
    const upgrade = plan("2", NOW - 60 * DAY, NOW - 30 * DAY, { productIdentifier: "plus" });
    expect(active(NOW, aPurchase({ lines: [year, upgrade] }))).toBe(false);
    expect(active(NOW, aPurchase({ lines: [year, restored, upgrade] }))).toBe(false);
  });
  test("is none of what is no subscription", () => {
    expect(active(NOW, aPurchase({ lines: [marked({ nature: "non_consumable" })] }))).toBe(false);
  });
});
