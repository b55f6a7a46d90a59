import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { givesAccess, spansAt, timelineOf, type Span } from "../../lib/entitlements/timeline.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
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
import {
  A_MILLISECOND,
  AN_HOUR,
  aPeriod,
  at,
  givenBack,
  held,
  HOUR,
  marked,
  MINUTE,
  refunded,
  signed,
} from "./history.ts";

const CATALOG = aCatalog([
  aProduct({ productIdentifier: "basic" }),
  aProduct({ productIdentifier: "plus" }),
  aProduct({ productIdentifier: "forever" }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "week", accessDuration: period("P7D") }),
  aProduct({ productIdentifier: "month", accessDuration: period("P1M") }),
  aProduct({ store: "android-store", productIdentifier: "basic" }),
  aProduct({ store: "android-store", productIdentifier: "forever" }),
  aProduct({ store: "android-store", productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ store: "android-store", productIdentifier: "film", purchaseOptionIdentifier: "buy" }),
  aProduct({
    store: "android-store",
    productIdentifier: "film",
    purchaseOptionIdentifier: "rent",
    accessDuration: period("P2D"),
  }),
]);

const timeline = (...purchases: readonly Purchase[]): readonly Span[] =>
  timelineOf(held(...purchases), { catalog: CATALOG, renewalLeeway: HOUR });

/** A line over time: when it begins, in days, and each status with its end. A `?` marks assumed access. */
type Picture = readonly (number | string)[];

const MINUTES = MINUTE * A_MILLISECOND;

/** The spans of the only line, without the minute by which access begins early. */
const pictureOf = (spans: readonly Span[]): Picture => {
  expect(spans.slice(1).map(({ from }) => from)).toEqual(spans.slice(0, -1).map(({ to }) => to));
  return spans.flatMap(({ from, to, status, isAssumed }, index) => [
    ...(index === 0 ? [from + MINUTE] : []),
    isAssumed ? `${status}?` : status,
    ...(index === spans.length - 1 && to === Infinity ? [] : [to]),
  ]);
};
const inTime = (picture: Picture): Picture => picture.map((one) => (typeof one === "number" ? at(one) : one));
const expectPicture = (purchase: Purchase, expected: Picture): void => {
  expect(pictureOf(timeline(purchase))).toEqual(inTime(expected));
};

const monthly = aPeriod("1", "basic", -30, 0);
const lineage = (lines: readonly Line[], renewal: Renewal | null = null, more: Partial<Purchase> = {}) =>
  aPurchase({ lines, renewal, ...more, key: "1" });
const renewing = (more: Partial<Renewal> = {}): Renewal =>
  aRenewal({ periodEndsAt: at(0), signedAt: at(-30), ...more });

describe("after the end of an App Store period", () => {
  const SINCE = { signedAt: at(0) };
  const FAILED = { ...SINCE, isInBillingRetry: true };
  const IN_GRACE = { isInGrace: true, periodEndsAt: at(0), signedAt: at(0) };

  test.each<[rule: string, renewal: Renewal | null, after: Picture]>([
    ["it is over where nothing is known of its renewal", null, ["expired"]],
    ["the leeway runs where it was to be renewed", renewing(), ["active?", AN_HOUR, "expired"]],
    [
      "it runs whatever reason the store gave before",
      renewing({ expirationIntent: 2, isInBillingRetry: true, signedAt: at(0) - 1 }),
      ["active?", AN_HOUR, "billing_retry", 60, "expired"],
    ],
    [
      "it runs where the store only says since that it will renew",
      renewing(SINCE),
      ["active?", AN_HOUR, "expired"],
    ],
    [
      "not where the store gives a reason to expire",
      renewing({ ...SINCE, expirationIntent: 2 }),
      ["expired"],
    ],
    ["not where it was not to be renewed", renewing({ willRenew: false }), ["expired"]],
    ["not where the store says that it is over", renewing({ ...SINCE, willRenew: false }), ["expired"]],
    [
      "it runs where a later end is named, without its transaction",
      renewing({ ...SINCE, periodEndsAt: at(30), willRenew: false }),
      ["active?", AN_HOUR, "expired"],
    ],
    [
      "not where that is the next attempt of a payment",
      renewing({ ...FAILED, periodEndsAt: at(1) }),
      ["billing_retry", 60, "expired"],
    ],
    ["a failed payment is retried for 60 days", renewing(FAILED), ["billing_retry", 60, "expired"]],
    [
      "a grace period runs to its end",
      renewing({ ...SINCE, graceEndsAt: at(16) }),
      ["grace_period", 16, "expired"],
    ],
    [
      "retries follow the grace period, 60 days from the end",
      renewing({ ...FAILED, graceEndsAt: at(16) }),
      ["grace_period", 16, "billing_retry", 60, "expired"],
    ],
    [
      "no retries follow a grace period of 60 days",
      renewing({ ...FAILED, graceEndsAt: at(60) }),
      ["grace_period", 60, "expired"],
    ],
    [
      "the leeway goes on after a shorter grace period",
      renewing({ graceEndsAt: at(MINUTES) }),
      ["grace_period", MINUTES, "active?", AN_HOUR, "expired"],
    ],
    [
      "a grace date at the end is none",
      renewing({ ...FAILED, graceEndsAt: at(0) }),
      ["billing_retry", 60, "expired"],
    ],
    [
      "a grace period without a date runs for 28 days",
      renewing({ ...FAILED, status: IN_GRACE }),
      ["grace_period", 28, "billing_retry", 60, "expired"],
    ],
    [
      "a status of another period is none",
      renewing({ ...FAILED, status: { ...IN_GRACE, periodEndsAt: at(30) } }),
      ["billing_retry", 60, "expired"],
    ],
    [
      "a status without a grace period is none",
      renewing({ ...FAILED, status: { ...IN_GRACE, isInGrace: false } }),
      ["billing_retry", 60, "expired"],
    ],
  ])("%s", (_, renewal, after) => {
    expectPicture(lineage([monthly], renewal), [-30, "active", 0, ...after]);
  });

  test("an application without a leeway has none", () => {
    const spans = timelineOf(held(lineage([monthly], renewing())), { catalog: CATALOG, renewalLeeway: 0 });
    expect(pictureOf(spans)).toEqual(inTime([-30, "active", 0, "expired"]));
  });
});

describe("an App Store period", () => {
  const SINCE = renewing({ signedAt: at(0), isInBillingRetry: true, graceEndsAt: at(16) });
  const another = { replacedBy: purchaseKey("9") };

  test.each<[rule: string, purchase: Purchase, expected: Picture]>([
    ["is cut by its mark", lineage([{ ...monthly, ...marked(-10) }]), [-30, "active", -10, "expired"]],
    [
      "is cut by another lineage, and has no grace period then",
      lineage([monthly], SINCE, { ...another, replacedAt: at(-1) }),
      [-30, "active", -1, "expired"],
    ],
    [
      "has a grace period until another lineage begins",
      lineage([monthly], SINCE, { ...another, replacedAt: at(5) }),
      [-30, "active", 0, "grace_period", 5, "expired"],
    ],
    [
      "is revoked by its refund",
      lineage([{ ...monthly, ...refunded(-10) }], SINCE),
      [-30, "active", -10, "revoked"],
    ],
    [
      "is revoked in its grace period",
      lineage([{ ...monthly, ...refunded(5) }], SINCE),
      [-30, "active", 0, "grace_period", 5, "revoked"],
    ],
    [
      "is revoked after its end",
      lineage([{ ...monthly, ...refunded(5) }]),
      [-30, "active", 0, "expired", 5, "revoked"],
    ],
    [
      "goes on once its refund was taken back",
      lineage([{ ...monthly, ...givenBack(-20, -10) }]),
      [-30, "active", 0, "expired"],
    ],
    [
      "that was restored after its end is over",
      lineage([aPeriod("1", "basic", 5, 0)]),
      [0, "active", 0, "expired"],
    ],
    [
      "without an end goes on",
      lineage([{ ...monthly, endsAt: null }], renewing({ periodEndsAt: null, isInBillingRetry: true })),
      [-30, "active"],
    ],
  ])("%s", (_, purchase, expected) => {
    expectPicture(purchase, expected);
  });

  test("that was charged ahead is assumed to run until its start", () => {
    const charged = aPeriod("2", "basic", 0, 30, signed(-0.5));
    const spans = timeline(aPurchase({ key: "1", lines: [charged] }));
    expect(pictureOf(spans)).toEqual(inTime([-0.5, "active?", 0, "active", 30, "expired"]));
    expect(spans.map(({ startsAt }) => startsAt)).toEqual([null, at(0), at(0)]);
    const short = timeline(aPurchase({ key: "1", lines: [aPeriod("2", "basic", 0, 0, signed(-0.5))] }));
    expect(pictureOf(short)).toEqual(inTime([-0.5, "active?", 0, "expired"]));
  });

  test("that was charged ahead and refunded runs until its refund", () => {
    const charged = aPeriod("2", "basic", 0, 30, { ...refunded(0.5), ...signed(-0.5) });
    expect(pictureOf(timeline(aPurchase({ key: "1", lines: [charged] })))).toEqual(
      inTime([-0.5, "active?", 0, "active", 0.5, "revoked"]),
    );
  });

  test.each<[what: string, line: Line, renewal: Renewal | null, expiresAt: number]>([
    ["its own end", monthly, null, 0],
    ["the end of its grace period", monthly, SINCE, 16],
    ["not the end of the leeway", monthly, renewing(), 0],
    ["where it was cut", { ...monthly, ...marked(-10) }, null, -10],
    ["Infinity where it has no end", { ...monthly, endsAt: null }, null, Infinity],
  ])("ends for a person at %s", (_, line, renewal, expiresAt) => {
    expect(timeline(lineage([line], renewal)).map((span) => span.expiresAt)).toEqual(
      expect.arrayContaining([at(expiresAt)]),
    );
    const ends = new Set(timeline(lineage([line], renewal)).map((span) => span.expiresAt));
    expect([...ends]).toEqual([at(expiresAt)]);
  });

  test.each([
    ["in its middle", -10, -10],
    ["after its end", 5, 0],
  ])("that is refunded %s ended at the earlier of the two", (_, day, expiresAt) => {
    const spans = timeline(lineage([{ ...monthly, ...refunded(day) }]));
    expect(spans.at(-1)).toMatchObject({ status: "revoked", expiresAt: at(expiresAt) });
    expect(spans.at(0)).toMatchObject({ status: "active", expiresAt: at(0) });
  });

  test("shows no start that is later than its end", () => {
    expect(timeline(lineage([aPeriod("1", "basic", A_MILLISECOND, 0)])).at(-1)?.startsAt).toBeNull();
    expect(timeline(lineage([aPeriod("1", "basic", 0, 0)])).at(-1)?.startsAt).toBe(at(0));
    expect(timeline(lineage([{ ...monthly, startsAt: null }])).at(-1)?.startsAt).toBe(0);
  });

  test("was verified when it was signed last, or its renewal info", () => {
    const verified = (renewal: Renewal | null) => timeline(lineage([monthly], renewal)).at(-1)?.verifiedAt;
    expect(verified(null)).toBe(at(-30));
    expect(verified(renewing({ signedAt: at(-1) }))).toBe(at(-1));
    expect(verified(renewing({ signedAt: at(-31) }))).toBe(at(-30));
  });

  test("renews as its renewal info says, or its known renewal", () => {
    const willRenew = (lines: readonly Line[], renewal: Renewal | null) =>
      timeline(lineage(lines, renewal))
        .filter(({ line }) => line.transactionIdentifier === "1")
        .map((span) => span.willRenew);
    expect(willRenew([monthly], null)).toEqual([null, null]);
    expect(willRenew([monthly], renewing({ willRenew: false }))).toEqual([false, false]);
    const renewed = [monthly, aPeriod("2", "basic", 0, 30, signed(-0.5))];
    expect(willRenew(renewed, renewing({ willRenew: false }))).toEqual([true, null]);
  });
});

describe("a line of Google's", () => {
  const google = (more: Partial<Line>): Purchase =>
    aPurchase({
      store: "android-store",
      lines: [
        { ...monthly, transactionIdentifier: null, event: null, willRenew: true, ...signed(-30), ...more },
      ],
    });
  const CANCELED = { willRenew: false };
  const GRACE = { standing: "grace_period" } as const;

  test.each<[rule: string, line: Partial<Line>, expected: Picture]>([
    ["runs to its end, and the leeway", {}, ["active", 0, "active?", AN_HOUR, "expired"]],
    ["has no leeway where it is cancelled", CANCELED, ["active", 0, "expired"]],
    ["has none where its renewal is not known", { willRenew: null }, ["active", 0, "expired"]],
    [
      "has the leeway where it was read before its end",
      signed(-A_MILLISECOND),
      ["active", 0, "active?", AN_HOUR, "expired"],
    ],
    ["read at its end is retried silently for 48 hours", signed(0), ["active", 0, "active?", 2, "expired"]],
    ["is so however often it is read", signed(1), ["active", 0, "active?", 2, "expired"]],
    ["is not where it is cancelled", { ...CANCELED, ...signed(1) }, ["active", 0, "expired"]],
    ["in its grace period has the leeway", GRACE, ["grace_period", 0, "grace_period?", AN_HOUR, "expired"]],
    [
      "in its grace period is retried silently, too",
      { ...GRACE, ...signed(0) },
      ["grace_period", 0, "grace_period?", 2, "expired"],
    ],
    ["is on hold since its end", { standing: "billing_retry", ...signed(1) }, ["active", 0, "billing_retry"]],
    ["is paused since its end", { standing: "paused", ...signed(1) }, ["active", 0, "paused"]],
    [
      "is paused since it was read, before its end",
      { standing: "paused", ...signed(-5) },
      ["active", -5, "paused"],
    ],
    [
      "is paused since it was read, without an end",
      { standing: "paused", endsAt: null, ...signed(-5) },
      ["active", -5, "paused"],
    ],
    ["has expired since its end", { standing: "expired", ...signed(1) }, ["active", 0, "expired"]],
    ["that is revoked without a date gave nothing", { standing: "revoked" }, ["revoked"]],
    ["is revoked at its refund", { revokedAt: at(-10) }, ["active", -10, "revoked"]],
    ["is revoked after its end", { revokedAt: at(10) }, ["active", 0, "expired", 10, "revoked"]],
    ["without an end goes on", { endsAt: null }, ["active"]],
  ])("%s", (_, line, expected) => {
    expectPicture(google(line), [-30, ...expected]);
  });

  test("shows its own dates, renewal and verification", () => {
    const shown = { startsAt: at(-30), expiresAt: at(0), willRenew: true, verifiedAt: at(-1) };
    for (const span of timeline(google(signed(-1)))) expect(span).toMatchObject(shown);
    expect(timeline(google({ standing: "revoked" }))).toMatchObject([{ expiresAt: at(0) }]);
    expect(timeline(google({ revokedAt: at(-10) })).at(-1)?.expiresAt).toBe(at(-10));
    expect(timeline(google({ revokedAt: at(10) })).at(-1)?.expiresAt).toBe(at(0));
  });

  test("without a start has begun at all times", () => {
    expect(timeline(google({ startsAt: null, ...CANCELED }))).toMatchObject([
      { from: -Infinity, to: at(0), startsAt: null },
      { status: "expired" },
    ]);
  });

  test("ends only at its own end, whatever else the purchase has", () => {
    const [line] = google(CANCELED).lines;
    const both = google(CANCELED);
    const other = { ...monthly, ...line, productIdentifier: "forever", startsAt: at(-10), endsAt: at(20) };
    const active = timeline({ ...both, lines: [...both.lines, other] }).filter(givesAccess);
    expect(active.map(({ to }) => to)).toEqual([at(0), at(20)]);
  });
});

describe("what grants nothing has no span:", () => {
  test.each<[what: string, purchase: Purchase]>([
    ["a pending purchase", aPurchase({ lines: [] })],
    ["an unmapped product", lineage([{ ...monthly, productIdentifier: "other" }])],
    [
      "a product of the other store",
      aPurchase({ store: "android-store", lines: [{ ...monthly, productIdentifier: "plus" }] }),
    ],
    [
      "a purchase of Google's that was replaced",
      aPurchase({ store: "android-store", lines: [monthly], replacedBy: purchaseKey("2") }),
    ],
    [
      "a product that nobody selected",
      aPurchase({
        lines: [aLine({ nature: "non_consumable", productIdentifier: "forever" })],
        selectedProducts: ["x"],
      }),
    ],
    ["a period that never ran", lineage([{ ...monthly, ...refunded(-30) }])],
  ])("%s", (_, purchase) => {
    expect(timeline(purchase)).toEqual([]);
  });
});

/** A one-time purchase of a lineage of its own. */
const oneTime = (key: string, more: Partial<Line> = {}, purchase: Partial<Purchase> = {}): Purchase => ({
  ...aPurchase({
    key,
    lines: [
      aLine({
        transactionIdentifier: purchase.store === "android-store" ? null : key,
        productIdentifier: "pass",
        nature: purchase.store === "android-store" ? "consumable" : "non_renewing",
        startsAt: NOW,
        endsAt: null,
        ...more,
      }),
    ],
  }),
  ...purchase,
});

describe("a one-time purchase", () => {
  const forever = (more: Partial<Line>) =>
    oneTime("1", { productIdentifier: "forever", nature: "non_consumable", ...more });
  test.each<[rule: string, purchase: Purchase, expected: Picture]>([
    ["lasts for ever", forever({}), [0, "active"]],
    ["lasts until its refund", forever(refunded(5)), [0, "active", 5, "revoked"]],
    ["that is revoked without a date never was", forever({ standing: "revoked" }), [0, "revoked"]],
    ["with an end of its own lasts until then", oneTime("1", { endsAt: at(5) }), [0, "active", 5, "expired"]],
    ["with a duration lasts as long", oneTime("1"), [0, "active", 1, "expired"]],
    ["lasts as many times longer as was bought", oneTime("1", { quantity: 3 }), [0, "active", 3, "expired"]],
    [
      "lasts for the units that were not refunded",
      oneTime("1", { quantity: 3, refundedQuantity: 1 }),
      [0, "active", 2, "expired"],
    ],
    [
      "of two months from 31 December lasts to 28 February",
      oneTime("1", { productIdentifier: "month", startsAt: Date.UTC(2025, 11, 31), quantity: 2 }),
      [(Date.UTC(2025, 11, 31) - NOW) / DAY, "active", (Date.UTC(2026, 1, 28) - NOW) / DAY, "expired"],
    ],
  ])("%s", (_, purchase, expected) => {
    expectPicture(purchase, expected);
  });

  test("without a start began when it was verified", () => {
    expect(timeline(oneTime("1", { startsAt: null, ...signed(2) })).filter(givesAccess)).toMatchObject([
      { from: -Infinity, to: at(3) },
    ]);
  });

  test("is one, under any number of ids", () => {
    const copies = ["1", "2"].map((id) =>
      aLine({
        transactionIdentifier: id,
        event: "",
        productIdentifier: "forever",
        nature: "non_consumable",
        endsAt: null,
      }),
    );
    expect(timeline(aPurchase({ lines: copies }))).toHaveLength(1);
  });
});

describe("passes of one product follow one another:", () => {
  const google = { store: "android-store" } as const;
  /** Days in which each pass gives access, by its purchase's key. */
  const turns = (passes: readonly Purchase[]) =>
    Object.fromEntries(
      timeline(...passes)
        .filter(givesAccess)
        .map(({ holding, from, to }) => [holding.purchase.key, [from + MINUTE, to]]),
    );
  const first = oneTime("1");

  test.each<
    [rule: string, passes: readonly Purchase[], expected: Readonly<Record<string, readonly number[]>>]
  >([
    ["at once", [first, oneTime("2")], { 1: [0, 1], 2: [1, 2] }],
    [
      "the second where the first ends",
      [first, oneTime("2", { startsAt: at(0.5) })],
      { 1: [0, 1], 2: [1, 2] },
    ],
    [
      "three in a row",
      [first, oneTime("2", { startsAt: at(0.25) }), oneTime("3", { startsAt: at(0.5) })],
      { 1: [0, 1], 2: [1, 2], 3: [2, 3] },
    ],
    [
      "after a gap from its own purchase",
      [first, oneTime("2", { startsAt: at(2) })],
      { 1: [0, 1], 2: [2, 3] },
    ],
    [
      "of one moment the smaller key first, whatever the transaction",
      [oneTime("1", { transactionIdentifier: "9" }), oneTime("2", { transactionIdentifier: "8" })],
      { 1: [0, 1], 2: [1, 2] },
    ],
    [
      "after all units",
      [oneTime("1", { quantity: 3 }), oneTime("2", { startsAt: at(1) })],
      { 1: [0, 3], 2: [3, 4] },
    ],
    [
      "where a refund ended the one before",
      [oneTime("1", refunded(0.5)), oneTime("2", { startsAt: at(0.25) })],
      { 1: [0, 0.5], 2: [0.5, 1.5] },
    ],
    [
      "at its own purchase, where the one before was refunded by then",
      [oneTime("1", refunded(0.25)), oneTime("2", { startsAt: at(0.5) })],
      { 1: [0, 0.25], 2: [0.5, 1.5] },
    ],
    [
      "in place of one that was refunded before it began",
      [first, oneTime("2", { startsAt: at(0.25), ...refunded(0.5) }), oneTime("3", { startsAt: at(0.75) })],
      { 1: [0, 1], 3: [1, 2] },
    ],
    [
      "after one that was refunded when it was used",
      [oneTime("1", refunded(9)), oneTime("2", { startsAt: at(0.5) })],
      { 1: [0, 1], 2: [1, 2] },
    ],
    [
      "after the units that were not refunded",
      [
        oneTime("1", { quantity: 2, refundedQuantity: 1, revokedSince: at(0.5) }),
        oneTime("2", { startsAt: at(0.5) }),
      ],
      { 1: [0, 1], 2: [1, 2] },
    ],
    [
      "after units that were used before their refund",
      [
        oneTime("1", { quantity: 2, refundedQuantity: 1, revokedSince: at(1.5) }),
        oneTime("2", { startsAt: at(0.5) }),
      ],
      { 1: [0, 1], 2: [1.5, 2.5] },
    ],
    [
      "after no more units than were bought",
      [
        oneTime("1", { quantity: 2, refundedQuantity: 1, revokedSince: at(9) }),
        oneTime("2", { startsAt: at(0.5) }),
      ],
      { 1: [0, 1], 2: [2, 3] },
    ],
    [
      "where Google showed the refund first, which has no date",
      [
        oneTime("1", { standing: "revoked", revokedSince: at(0.5) }, google),
        oneTime("2", { startsAt: at(0.25) }, google),
      ],
      { 2: [0.5, 1.5] },
    ],
    [
      "another product beside them",
      [first, oneTime("2", { productIdentifier: "week" })],
      { 1: [0, 1], 2: [0, 7] },
    ],
    [
      "another environment beside them",
      [first, oneTime("2", {}, { environment: "sandbox" })],
      { 1: [0, 1], 2: [0, 1] },
    ],
    ["another store beside them", [first, oneTime("2", {}, google)], { 1: [0, 1], 2: [0, 1] }],
    [
      "what ends by itself, or renews, beside them",
      [first, oneTime("2", { endsAt: at(2) }), oneTime("3", { nature: "auto_renewable", endsAt: at(3) })],
      { 1: [0, 1], 2: [0, 2], 3: [0, 3] },
    ],
    [
      "purchase options of one product together",
      [
        oneTime("1", { purchaseOptionIdentifier: "a" }, google),
        oneTime("2", { purchaseOptionIdentifier: "b" }, google),
      ],
      { 1: [0, 1], 2: [1, 2] },
    ],
  ])("%s", (_, passes, expected) => {
    const inTurn = Object.fromEntries(Object.entries(expected).map(([key, days]) => [key, days.map(at)]));
    expect(turns(passes)).toEqual(inTurn);
    expect(turns(passes.toReversed())).toEqual(inTurn);
  });

  test("those of several customers, too", () => {
    const [one, other] = [held(first), held(oneTime("2"))].flat();
    if (one === undefined || other === undefined) throw new Error("There are two.");
    const spans = timelineOf([one, { ...other, assertedBy: "client" }], {
      catalog: CATALOG,
      renewalLeeway: 0,
    });
    expect(spans.filter(givesAccess).map(({ to }) => to)).toEqual([at(1), at(2)]);
  });
});

describe("a rental", () => {
  const rented = (purchaseOptionIdentifier: string | null, key = "1", more: Partial<Line> = {}) =>
    oneTime(
      key,
      { productIdentifier: "film", purchaseOptionIdentifier, rented: true, ...more },
      { store: "android-store" },
    );
  const endsOf = (...purchases: readonly Purchase[]) =>
    timeline(...purchases)
      .filter(givesAccess)
      .map(({ to }) => to);

  test.each<[rule: string, purchase: Purchase, ends: readonly number[]]>([
    ["lasts as long as its purchase option", rented("rent"), [2]],
    ["gives nothing where its option has no duration", rented("buy"), []],
    ["gives nothing where the product is not mapped", rented(null), []],
    ["that was bought has no end", rented("buy", "1", { rented: false }), [Infinity]],
  ])("%s", (_, purchase, ends) => {
    expect(endsOf(purchase)).toEqual(ends.map(at));
  });

  test("lasts from its own purchase: rented again, it adds nothing", () => {
    expect(endsOf(rented("rent"), rented("rent", "2", { startsAt: at(1) }))).toEqual([at(2), at(3)]);
  });
});

test("a span holds its first instant and not its end", () => {
  const spans = timeline(lineage([monthly]));
  const statusAt = (moment: number) => spansAt(moment, spans).map(({ status }) => status);
  expect(statusAt(at(-30) - MINUTE - 1)).toEqual([]);
  expect(statusAt(at(-30) - MINUTE)).toEqual(["active"]);
  expect(statusAt(at(0) - 1)).toEqual(["active"]);
  expect(statusAt(at(0))).toEqual(["expired"]);
});

test.each([
  ["active", true],
  ["grace_period", true],
  ["billing_retry", false],
  ["paused", false],
  ["expired", false],
  ["revoked", false],
] as const)("%s gives access: %s", (status, gives) => {
  expect(givesAccess({ status })).toBe(gives);
});
