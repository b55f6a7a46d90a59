import { reportedHoldings } from "../../lib/administration/reports/account-report.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { timelineOf, type Terms } from "../../lib/entitlements/timeline.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { endingsOf } from "../../operator/console/endings.ts";
import { aReportedCustomer } from "../../testing/support/reported-customer.ts";
import {
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

const endings = (...purchases: readonly Purchase[]) => {
  const customers = [aReportedCustomer(purchases)];
  return endingsOf({ customers }, timelineOf(reportedHoldings(customers), TERMS), NOW);
};
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
  test("an active one lasts, and one without an end for ever, which comes first", () => {
    const lifetime = aLine({ transactionIdentifier: "2", nature: "non_consumable", endsAt: null });
    expect(endings(aPurchase(), aPurchase({ key: "2", lines: [lifetime] }))).toMatchObject([
      { because: "lasts", until: null },
      { because: "lasts", until: isoTime(NOW + 20 * DAY) },
    ]);
  });

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

  test("a change to a product that is not mapped names that product", () => {
    const gold = aLine({ transactionIdentifier: "2", productIdentifier: "gold", startsAt: end + 1 });
    expect(endings(aPurchase({ lines: [over, gold] }))).toMatchObject([
      { productIdentifier: "monthly", because: "changed", changedTo: "gold", until: isoTime(end) },
    ]);
  });

  test("a later purchase of another product is no change", () => {
    const gold = aLine({ transactionIdentifier: "2", productIdentifier: "gold", startsAt: end + DAY });
    expect(endings(aPurchase({ lines: [over, gold] }))).toMatchObject([{ because: "not_renewed" }]);
  });

  test("a purchase that another replaced names the product of that", () => {
    const old = aPurchase({ replacedBy: purchaseKey("2"), replacedAt: end });
    const gold = aLine({ transactionIdentifier: "2", productIdentifier: "gold", startsAt: end });
    const replacing = aPurchase({ key: "2", lines: [gold] });
    expect(endings(old, replacing)).toMatchObject([
      { because: "changed", changedTo: "gold", until: isoTime(end) },
    ]);
    expect(endings(old)).toMatchObject([{ because: "changed", changedTo: null, until: isoTime(end) }]);
  });

  test("a purchase replaced at an unknown time is not among them", () => {
    const old = aPurchase({ store: "android-store", replacedBy: purchaseKey("2") });
    expect(endings(old)).toEqual([]);
  });

  test("a refund without a date leaves no access that is known", () => {
    const refunded = aPurchase({ store: "android-store", lines: [aLine({ standing: "revoked" })] });
    expect(endings(refunded)).toMatchObject([{ because: "refunded", until: null }]);
  });

  test("renewals of one product are one, with the last end", () => {
    const first = aLine({ startsAt: NOW - 62 * DAY, endsAt: NOW - 32 * DAY });
    const renewed = aPurchase({ lines: [first, { ...over, transactionIdentifier: "2", event: "2" }] });
    expect(endings(renewed)).toMatchObject([{ until: isoTime(end) }]);
  });

  test("the latest access comes first, though another purchase may come back", () => {
    const ended = aPurchase({
      store: "android-store",
      key: "2",
      lines: [{ ...over, standing: "expired", transactionIdentifier: null }],
    });
    expect(endings(failed(NOW - 20 * DAY), ended).map(({ store }) => store)).toEqual([
      "android-store",
      "ios-store",
    ]);
  });

  test("what has not begun, or is not mapped, is not among them", () => {
    const later = aPurchase({ lines: [aLine({ startsAt: NOW + DAY })] });
    const unmapped = aPurchase({ key: "2", lines: [aLine({ productIdentifier: "gold" })] });
    expect(endings(later, unmapped)).toEqual([]);
  });
});
