import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { givesAccess } from "../../../lib/entitlements/timeline.ts";
import { aLine, aPurchase, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aPeriod, at, inDays, MINUTE, refunded, signed } from "../history.ts";
import { expectPicture, timeline, type Picture } from "./pictures.ts";

const monthly = aPeriod("1", "basic", -30, 0);

test.each<[what: string, purchase: Purchase]>([
  ["an unmapped product", aPurchase({ lines: [{ ...monthly, productIdentifier: "other" }] })],
  ["a product of the other store", aPurchase({ store: "android-store", lines: [aLine()] })],
  ["a period that never ran", aPurchase({ lines: [{ ...monthly, ...refunded(-30) }] })],
])("%s grants nothing, and has no span", (_, purchase) => {
  expect(timeline(purchase)).toEqual([]);
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
  const partly = oneTime("1", { quantity: 3, refundedQuantity: 1 });
  const forever = (more: Partial<Line>) =>
    oneTime("1", { productIdentifier: "forever", nature: "non_consumable", ...more });
  test.each<[rule: string, purchase: Purchase, expected: Picture]>([
    ["lasts for ever", forever({}), "0 active"],
    ["lasts until its refund", forever(refunded(5)), "0 active 5 revoked"],
    ["that is revoked without a date never was", forever({ standing: "revoked" }), "0 revoked"],
    ["with an end of its own lasts until then", oneTime("1", { endsAt: at(5) }), "0 active 5 expired"],
    ["with a duration lasts as long", oneTime("1"), "0 active 1 expired"],
    ["lasts as many times longer as was bought", oneTime("1", { quantity: 3 }), "0 active 3 expired"],
    ["lasts for the units not refunded", partly, "0 active 2 expired"],
    [
      "of two months from 31 December lasts to 28 February",
      oneTime("1", { productIdentifier: "month", startsAt: Date.UTC(2025, 11, 31), quantity: 2 }),
      `${(Date.UTC(2025, 11, 31) - NOW) / DAY} active ${(Date.UTC(2026, 1, 28) - NOW) / DAY} expired`,
    ],
  ])("%s", (_, purchase, expected) => {
    expectPicture(purchase, expected);
  });

  test("without a start began when it was verified", () => {
    expect(timeline(oneTime("1", { startsAt: null, ...signed(2) })).filter(givesAccess)).toMatchObject([
      { from: -Infinity, to: at(3) },
    ]);
  });
});

describe("passes of one product follow one another:", () => {
  const google = { store: "android-store" } as const;
  /** Days in which each pass gives access, after its purchase's key. */
  const turns = (passes: readonly Purchase[]): string =>
    timeline(...passes)
      .filter(givesAccess)
      .map(({ holding, from, to }) => `${holding.purchase.key}: ${inDays(from + MINUTE)}–${inDays(to)}`)
      .toSorted()
      .join(", ");
  const first = oneTime("1");
  const copies = ["8", "9"].flatMap((id) => oneTime("1", { transactionIdentifier: id, event: "" }).lines);
  const restored = oneTime("1", {}, { lines: copies });

  const second = (startsAt: number, more: Partial<Line> = {}, purchase: Partial<Purchase> = {}) =>
    oneTime("2", { startsAt: at(startsAt), ...more }, purchase);
  const third = (startsAt: number) => oneTime("3", { startsAt: at(startsAt) });
  const partly = (revokedSince: number) =>
    oneTime("1", { quantity: 2, refundedQuantity: 1, revokedSince: at(revokedSince) });
  const [ninth, eighth] = [oneTime("1", { transactionIdentifier: "9" }), { transactionIdentifier: "8" }];
  const undated = oneTime("1", { standing: "revoked", revokedSince: at(0.5) }, google);
  const option = (key: string, purchaseOptionIdentifier: string) =>
    oneTime(key, { purchaseOptionIdentifier }, google);

  test.each<[rule: string, passes: readonly Purchase[], expected: string]>([
    ["three in a row", [first, second(0.25), third(0.5)], "1: 0–1, 2: 1–2, 3: 2–3"],
    ["copies of one purchase once", [restored], "1: 0–1"],
    ["after a gap from its own purchase", [first, second(2)], "1: 0–1, 2: 2–3"],
    ["of one moment the smaller key first", [ninth, second(0, eighth)], "1: 0–1, 2: 1–2"],
    ["after all units", [oneTime("1", { quantity: 3 }), second(1)], "1: 0–3, 2: 3–4"],
    ["in place of a refunded one", [first, second(0.25, refunded(0.5)), third(0.75)], "1: 0–1, 3: 1–2"],
    ["after the units that were not refunded", [partly(0.5), second(0.5)], "1: 0–1, 2: 1–2"],
    ["after units used before their refund", [partly(1.5), second(0.5)], "1: 0–1, 2: 1.5–2.5"],
    ["where Google showed an undated refund", [undated, second(0.25, {}, google)], "2: 0.5–1.5"],
    ["another product beside them", [first, oneTime("2", { productIdentifier: "week" })], "1: 0–1, 2: 0–7"],
    ["another environment beside them", [first, second(0, {}, { environment: "sandbox" })], "1: 0–1, 2: 0–1"],
    ["another store beside them", [first, second(0, {}, google)], "1: 0–1, 2: 0–1"],
    ["what ends by itself beside them", [first, second(0, { endsAt: at(2) })], "1: 0–1, 2: 0–2"],
    ["purchase options of one product together", [option("1", "a"), option("2", "b")], "1: 0–1, 2: 1–2"],
  ])("%s", (_, passes, expected) => {
    expect(turns(passes)).toBe(expected);
    expect(turns(passes.toReversed())).toBe(expected);
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
