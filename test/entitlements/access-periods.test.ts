import { accessPeriods, type AccessSpan } from "../../lib/entitlements/access-periods.ts";
import type { Terms } from "../../lib/entitlements/grants.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { referenceText, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
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

const HOUR = 3_600_000;
const TERMS: Terms = {
  catalog: aCatalog([
    aProduct(),
    aProduct({ productIdentifier: "forever" }),
    aProduct({ store: "android-store" }),
    aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  ]),
  renewalLeeway: HOUR,
};

/** Holdings in an order of their own, which the answer keeps. */
const heldBy = (purchases: readonly Purchase[]): readonly Holding[] =>
  purchases.map((purchase) => ({
    customerIdentifier: customerId("0198c0de-0000-7000-8000-0000000000cc"),
    assertedBy: "client",
    purchase,
  }));

/** A span as `[kind, from, to, active]`, in days from now. */
const inDays = ({ kind, from, to, active }: AccessSpan) => [
  kind,
  (from - NOW) / DAY,
  to === null ? null : (to - NOW) / DAY,
  active,
];

/** Spans of each line of the purchases, by the purchase's key. */
const spansOf = (purchases: readonly Purchase[], now = NOW) =>
  Object.fromEntries(
    [...Map.groupBy(accessPeriods(now, heldBy(purchases), TERMS), ({ holding }) => holding.purchase.key)].map(
      ([key, periods]) => [key, periods.flatMap(({ spans }) => spans.map(inDays))],
    ),
  );
const spansOfOne = (purchase: Purchase) => Object.values(spansOf([purchase])).flat();

const [began, ends] = [NOW - 10 * DAY, NOW + 20 * DAY];
const line = aLine({ startsAt: began, endsAt: ends, willRenew: null });
const android = (changes: Partial<Line>): Purchase =>
  aPurchase({ store: "android-store", lines: [aLine({ startsAt: began, ...changes })] });

describe("a line's periods of access:", () => {
  test("its period, where nothing else is known", () => {
    expect(spansOfOne(aPurchase({ lines: [line] }))).toEqual([["period", -10, 20, true]]);
  });

  test("a purchase without an end has none", () => {
    const lifetime = aLine({
      productIdentifier: "forever",
      nature: "non_consumable",
      startsAt: began,
      endsAt: null,
    });
    expect(spansOfOne(aPurchase({ lines: [lifetime] }))).toEqual([["period", -10, null, true]]);
  });

  test("the leeway for a renewal that was promised", () => {
    const renewal = aRenewal({ periodEndsAt: ends, willRenew: true, signedAt: began });
    expect(spansOfOne(aPurchase({ lines: [line], renewal }))).toEqual([
      ["period", -10, 20, true],
      ["renewal_leeway", 20, 20 + 1 / 24, true],
    ]);
  });

  test("the leeway for an Android subscription that Google said renews", () => {
    expect(spansOfOne(android({ endsAt: ends, willRenew: true, verifiedAt: NOW }))).toEqual([
      ["period", -10, 20, true],
      ["renewal_leeway", 20, 20 + 1 / 24, true],
    ]);
  });

  test("the grace period, and the retries after it, which give no access", () => {
    const renewal = aRenewal({
      periodEndsAt: ends,
      graceEndsAt: ends + 6 * DAY,
      isInBillingRetry: true,
      signedAt: ends,
    });
    expect(spansOfOne(aPurchase({ lines: [line], renewal }))).toEqual([
      ["period", -10, 20, true],
      ["grace_period", 20, 26, true],
      ["billing_retry", 26, 80, false],
    ]);
  });

  test("Google's grace period, which Google's answer has instead of a period", () => {
    expect(spansOfOne(android({ endsAt: ends, standing: "grace_period", willRenew: null }))).toEqual([
      ["grace_period", -10, 20, true],
    ]);
  });

  test("Google's silent retry", () => {
    const asked = android({ endsAt: NOW - DAY, willRenew: true, verifiedAt: NOW - DAY / 2 });
    expect(spansOfOne(asked)).toEqual([
      ["period", -10, -1, true],
      ["silent_retry", -1, 1, true],
    ]);
  });

  test("a refund in the period takes the rest", () => {
    const refunded = { ...line, revokedAt: NOW - DAY, revokedSince: NOW - DAY };
    expect(spansOfOne(aPurchase({ lines: [refunded] }))).toEqual([
      ["period", -10, -1, true],
      ["revoked", -1, null, false],
    ]);
  });

  test("a refund without a date takes all of it", () => {
    expect(spansOfOne(android({ endsAt: ends, standing: "revoked" }))).toEqual([
      ["revoked", -10, null, false],
    ]);
  });

  test.each(["paused", "billing_retry"] as const)("%s from the period's end on", (standing) => {
    expect(spansOfOne(android({ endsAt: NOW - DAY, standing }))).toEqual([
      ["period", -10, -1, true],
      [standing, -1, null, false],
    ]);
  });

  test("what the store calls paused had its period up to when it said so, where it gives no end", () => {
    expect(spansOfOne(android({ endsAt: null, standing: "paused", verifiedAt: NOW - 2 * DAY }))).toEqual([
      ["period", -10, -2, true],
      ["paused", -2, null, false],
    ]);
    expect(spansOfOne(android({ endsAt: null, standing: "paused", verifiedAt: began }))).toEqual([
      ["paused", -10, null, false],
    ]);
  });

  test("what is over had its period", () => {
    expect(spansOfOne(android({ endsAt: NOW - DAY, standing: "expired" }))).toEqual([
      ["period", -10, -1, true],
    ]);
  });

  test("an upgraded period that was refunded gave no access from the refund on", () => {
    const upgraded = { ...line, standing: "expired" as const, revokedAt: NOW - DAY, revokedSince: NOW - DAY };
    expect(spansOfOne(aPurchase({ lines: [upgraded] }))).toEqual([["revoked", -1, null, false]]);
  });

  test("passes of one product one after another", () => {
    const pass = (transactionIdentifier: string, quantity: number) =>
      aPurchase({
        key: transactionIdentifier,
        lines: [
          aLine({
            transactionIdentifier,
            event: transactionIdentifier,
            productIdentifier: "pass",
            nature: "non_renewing",
            startsAt: NOW,
            endsAt: null,
            quantity,
          }),
        ],
      });
    expect(spansOf([pass("1", 2), pass("2", 1)])).toEqual({
      "1": [["period", 0, 2, true]],
      "2": [["period", 2, 3, true]],
    });
  });

  test("an unmapped line has none", () => {
    expect(
      accessPeriods(NOW, heldBy([aPurchase({ lines: [{ ...line, productIdentifier: "x" }] })]), TERMS),
    ).toEqual([]);
  });
});

describe("a purchase that another replaced", () => {
  const next = aPurchase({
    key: "next",
    lines: [
      { ...line, transactionIdentifier: "2", event: "another", startsAt: NOW - 2 * DAY, endsAt: ends + DAY },
    ],
  });
  const replaced = (changes: Partial<Line> = {}, replacedAt: number | null = NOW - 2 * DAY): Purchase => ({
    ...aPurchase({ key: "replaced", lines: [{ ...line, ...changes }] }),
    replacedBy: purchaseKey("next"),
    replacedAt,
  });

  test("ends there", () => {
    expect(spansOf([replaced(), next])).toEqual({
      next: [["period", -2, 21, true]],
      replaced: [["period", -10, -2, true]],
    });
  });

  test("ends there, where it would have had no end", () => {
    const lifetime = replaced({ productIdentifier: "forever", nature: "non_consumable", endsAt: null });
    expect(spansOf([lifetime, next])["replaced"]).toEqual([["period", -10, -2, true]]);
  });

  test("had ended before, where it had", () => {
    expect(spansOf([replaced({ endsAt: NOW - 5 * DAY }), next])["replaced"]).toEqual([
      ["period", -10, -5, true],
    ]);
  });

  test("runs on until then, where the replacement is to come", () => {
    expect(spansOf([replaced({}, NOW + DAY), next])["replaced"]).toEqual([["period", -10, 1, true]]);
  });

  test("is told from the same purchase of another environment", () => {
    const sandbox = { ...replaced(), environment: "sandbox" as const, replacedBy: null, replacedAt: null };
    const spans = accessPeriods(NOW, heldBy([replaced(), sandbox, next]), TERMS).map(
      ({ holding: { purchase }, spans }) => [referenceText(purchase), spans.map(inDays)],
    );
    expect(Object.fromEntries(spans)).toMatchObject({
      [referenceText(replaced())]: [["period", -10, -2, true]],
      [referenceText(sandbox)]: [["period", -10, 20, true]],
    });
  });
});
