import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { Terms } from "../../lib/entitlements/timeline.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { pictureOf } from "../../operator/console/history.ts";
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
