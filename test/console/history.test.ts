import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { Terms } from "../../lib/entitlements/timeline.ts";
import { applicationId, purchaseKey } from "../../lib/identifiers.ts";
import { endingsOf, pictureOf } from "../../operator/console/history.ts";
import { explain } from "../../operator/text/explanation.ts";
import {
  aReportedCustomer,
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  NOW,
  period,
} from "../../testing/support/stores/purchases.ts";

const TERMS: Terms = {
  catalog: aCatalog([
    aProduct(),
    aProduct({ store: "android-store" }),
    aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  ]),
  renewalLeeway: 0,
};

const explained = (purchases: readonly Purchase[]) => explain(NOW, [aReportedCustomer(purchases)], TERMS);
const endings = (...purchases: readonly Purchase[]) => endingsOf(explained(purchases), NOW);
const end = NOW - 2 * DAY;
const over = aLine({ startsAt: NOW - 32 * DAY, endsAt: end });
const failed = (periodEndsAt: number, more: Parameters<typeof aRenewal>[0] = {}) =>
  aPurchase({
    lines: [{ ...over, endsAt: periodEndsAt }],
    renewal: aRenewal({ periodEndsAt, isInBillingRetry: true, signedAt: periodEndsAt + 1, ...more }),
  });
/** Apple's reason for the end of a period. */
const expired = (expirationIntent: number, periodEndsAt = end) =>
  aPurchase({
    lines: [over],
    renewal: aRenewal({ periodEndsAt, willRenew: false, expirationIntent, signedAt: end + 1 }),
  });
describe("what a purchase gave, and how it ended", () => {
  const pass = {
    productIdentifier: "pass",
    nature: "consumable",
    startsAt: end - DAY,
    endsAt: null,
  } as const;
  test.each([
    ["it was not renewed", aPurchase({ lines: [over] }), "not_renewed", end],
    ["it was refunded", aPurchase({ lines: [aLine({ revokedAt: NOW - DAY })] }), "refunded", NOW - DAY],
    ["its payment failed", failed(end), "payment_failed", end],
    [
      "its payment failed after the grace period",
      failed(end, { graceEndsAt: end + DAY }),
      "grace_over",
      end + DAY,
    ],
    ["Apple's reason 1", expired(1), "cancelled", end],
    ["Apple's reason 2", expired(2), "payment_failed", end],
    ["Apple's reason 3", expired(3), "price_refused", end],
    ["Apple's reason 4", expired(4), "not_for_sale", end],
    ["Apple's reason 5", expired(5), "not_renewed", end],
    ["Apple's reason of another period is not its reason", expired(1, end - DAY), "not_renewed", end],
    [
      "it was paused",
      aPurchase({ store: "android-store", lines: [{ ...over, standing: "paused" }] }),
      "paused",
      end,
    ],
    ["its time was over", aPurchase({ lines: [aLine(pass)] }), "pass_over", end],
  ] as const)("%s", (_, purchase, because, until) => {
    expect(endings(purchase)).toMatchObject([{ because, until: isoTime(until), changedTo: null }]);
  });

  const gold = (startsAt: number) =>
    aLine({ transactionIdentifier: "2", productIdentifier: "gold", startsAt });
  const lifetime = aLine({ transactionIdentifier: "2", nature: "non_consumable", endsAt: null });
  const first = aLine({ startsAt: NOW - 62 * DAY, endsAt: NOW - 32 * DAY });
  const replaced = aPurchase({ replacedBy: purchaseKey("2"), replacedAt: end });
  const replacedUndated = aPurchase({ store: "android-store", replacedBy: purchaseKey("2") });
  const changed = { because: "changed", until: isoTime(end) };
  const unended = aLine({ standing: "revoked" });
  const expiredOnAndroid = { ...over, standing: "expired", transactionIdentifier: null } as const;
  const notBegun = aPurchase({ lines: [aLine({ startsAt: NOW + DAY })] });
  const unmapped = aPurchase({ key: "2", lines: [aLine({ productIdentifier: "gold" })] });
  test.each<[string, readonly Purchase[], readonly object[]]>([
    [
      "an active one lasts, and one without an end for ever, which comes first",
      [aPurchase(), aPurchase({ key: "2", lines: [lifetime] })],
      [
        { because: "lasts", until: null },
        { because: "lasts", until: isoTime(NOW + 20 * DAY) },
      ],
    ],
    [
      "a change to a product that is not mapped names that product",
      [aPurchase({ lines: [over, gold(end + 1)] })],
      [{ ...changed, productIdentifier: "monthly", changedTo: "gold" }],
    ],
    [
      "a later purchase of another product is no change",
      [aPurchase({ lines: [over, gold(end + DAY)] })],
      [{ because: "not_renewed" }],
    ],
    [
      "a purchase that another replaced names the product of that",
      [replaced, aPurchase({ key: "2", lines: [gold(end)] })],
      [{ ...changed, changedTo: "gold" }],
    ],
    ["a purchase that an unknown one replaced was changed", [replaced], [{ ...changed, changedTo: null }]],
    ["a purchase replaced at an unknown time is not among them", [replacedUndated], []],
    [
      "a refund without a date leaves no access that is known",
      [aPurchase({ store: "android-store", lines: [unended] })],
      [{ because: "refunded", until: null }],
    ],
    [
      "renewals of one product are one, with the last end",
      [aPurchase({ lines: [first, { ...over, transactionIdentifier: "2", event: "2" }] })],
      [{ until: isoTime(end) }],
    ],
    [
      "the latest access comes first, though another purchase may come back",
      [failed(NOW - 20 * DAY), aPurchase({ store: "android-store", key: "2", lines: [expiredOnAndroid] })],
      [{ store: "android-store" }, { store: "ios-store" }],
    ],
    ["what has not begun, or is not mapped, is not among them", [notBegun, unmapped], []],
  ])("%s", (_, purchases, expected) => {
    expect(endings(...purchases)).toMatchObject(expected);
  });
});

const queue = {
  application: applicationId("0198c0de-0000-7000-8000-000000000001"),
  store: "ios-store",
  environment: "production",
  bundleOrPackage: "com.example.trails",
} as const;
const asking = { outcome: "due", at: NOW + 20 * DAY, because: "renewal", queue, health: null } as const;

const pictured = (purchase: Purchase) =>
  pictureOf(purchase, explained([purchase])[0]?.purchases[0]?.spans ?? [], asking);
/** Bars as `kind from to`, in days from now. */
const barsOf = (purchase: Purchase) =>
  pictured(purchase).flatMap(({ bars }) =>
    bars.map(({ kind, from, to, active }) => [
      kind,
      (Date.parse(from) - NOW) / DAY,
      to === null ? null : (Date.parse(to) - NOW) / DAY,
      active,
    ]),
  );

const [began, ends] = [NOW - 10 * DAY, NOW + 20 * DAY];
const line = aLine({ startsAt: began, endsAt: ends, willRenew: null });

describe("the picture of a purchase", () => {
  test("shows the grace period, and the retries after it without access", () => {
    const renewal = aRenewal({
      periodEndsAt: ends,
      graceEndsAt: ends + 6 * DAY,
      isInBillingRetry: true,
      signedAt: ends,
    });
    expect(barsOf(aPurchase({ lines: [line], renewal }))).toEqual([
      ["period", -10, 20, true],
      ["grace_period", 20, 26, true],
      ["billing_retry", 26, 80, false],
    ]);
  });

  test("shows a refund in the period, and its mark", () => {
    const refunded = { ...line, revokedAt: NOW - DAY, revokedSince: NOW - DAY };
    expect(barsOf(aPurchase({ lines: [refunded] }))).toEqual([
      ["period", -10, -1, true],
      ["revoked", -1, 20, false],
    ]);
    expect(pictured(aPurchase({ lines: [refunded] }))[0]?.marks).toContainEqual({
      at: isoTime(NOW - DAY),
      kind: "refund",
    });
  });

  test("marks a reversed refund, and when the store is asked next", () => {
    const reversed = { ...line, revokedAt: null, revokedSince: NOW - DAY };
    expect(pictured(aPurchase({ lines: [reversed] }))[0]?.marks).toEqual([
      { at: isoTime(line.verifiedAt), kind: "verified" },
      { at: isoTime(NOW - DAY), kind: "refund-reversed" },
      { at: isoTime(NOW + 20 * DAY), kind: "asked-next" },
    ]);
  });

  test("shows what the catalog does not map", () => {
    const other = aLine({ productIdentifier: "gold", startsAt: began, endsAt: null });
    expect(barsOf(aPurchase({ lines: [other] }))).toEqual([["unmapped", -10, null, false]]);
  });
});
