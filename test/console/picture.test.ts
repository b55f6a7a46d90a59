import type { ReportedCustomer } from "../../lib/administration/account-report.ts";
import type { Terms } from "../../lib/entitlements/entitlements.ts";
import { referenceText, type Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId } from "../../lib/identifiers.ts";
import { pictureOf } from "../../operator/console/picture.ts";
import { aCatalog, aLine, aProduct, aPurchase, aRenewal, DAY, NOW, period } from "../support/purchases.ts";

const aCustomer = (purchases: readonly Purchase[]): ReportedCustomer => ({
  customerIdentifier: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  assertedBy: "client",
  linkedAt: NOW,
  createdAt: NOW,
  aliases: [],
  purchases,
  asking: new Map(
    purchases.map((purchase) => [
      referenceText(purchase),
      { outcome: "due", at: NOW + 20 * DAY, because: "renewal" },
    ]),
  ),
});

const HOUR = 3_600_000;
const TERMS: Terms = {
  catalog: aCatalog([
    aProduct(),
    aProduct({ store: "android-store" }),
    aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  ]),
  renewalLeeway: HOUR,
};

const pictured = (purchase: Purchase) => {
  const customers = [aCustomer([purchase])];
  return pictureOf({ customers }, TERMS, NOW, [referenceText(purchase)]);
};
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
  test("is its period, where nothing else is known", () => {
    expect(barsOf(aPurchase({ lines: [line] }))).toEqual([["period", -10, 20, true]]);
  });

  test("shows the leeway for a renewal that was promised", () => {
    const renewal = aRenewal({ periodEndsAt: ends, willRenew: true, signedAt: began });
    expect(barsOf(aPurchase({ lines: [line], renewal }))).toEqual([
      ["period", -10, 20, true],
      ["renewal_leeway", 20, 20 + 1 / 24, true],
    ]);
  });

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

  test("shows Google's silent retry", () => {
    const asked = aLine({ startsAt: began, endsAt: NOW - DAY, willRenew: true, verifiedAt: NOW - DAY / 2 });
    expect(barsOf(aPurchase({ store: "android-store", lines: [asked] }))).toEqual([
      ["period", -10, -1, true],
      ["silent_retry", -1, 1, true],
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

  test("marks a refund that was reversed, and when the store is asked next", () => {
    const reversed = { ...line, revokedAt: null, revokedSince: NOW - DAY };
    expect(pictured(aPurchase({ lines: [reversed] }))[0]?.marks).toEqual([
      { at: isoTime(line.verifiedAt), kind: "verified" },
      { at: isoTime(NOW - DAY), kind: "refund-reversed" },
      { at: isoTime(NOW + 20 * DAY), kind: "asked-next" },
    ]);
  });

  test.each(["paused", "billing_retry"] as const)("shows %s from the period's end on", (standing) => {
    const over = aLine({ startsAt: began, endsAt: NOW - DAY, standing });
    expect(barsOf(aPurchase({ store: "android-store", lines: [over] }))).toEqual([
      ["period", -10, -1, true],
      [standing, -1, null, false],
    ]);
  });

  test("shows what the catalog does not map", () => {
    const other = aLine({ productIdentifier: "gold", startsAt: began, endsAt: null });
    expect(barsOf(aPurchase({ lines: [other] }))).toEqual([["unmapped", -10, null, false]]);
  });

  test("shows passes one after another", () => {
    const pass = aLine({
      productIdentifier: "pass",
      nature: "non_renewing",
      startsAt: NOW,
      endsAt: null,
      quantity: 2,
    });
    expect(barsOf(aPurchase({ lines: [pass] }))).toEqual([["period", 0, 2, true]]);
  });

  test("ends a purchase where another replaced it", () => {
    const purchase = aPurchase({ lines: [line], replacedAt: NOW - 2 * DAY });
    const other = aPurchase({
      key: "other",
      lines: [{ ...line, transactionIdentifier: "2", event: "another" }],
    });
    const customers = [aCustomer([{ ...purchase, replacedBy: other.key }, other])];
    const [row] = pictureOf({ customers }, TERMS, NOW, [referenceText(purchase)]);
    expect(row?.bars).toEqual([
      { from: isoTime(began), to: isoTime(NOW - 2 * DAY), kind: "period", active: true },
    ]);
  });

  test("has the shown purchases of 2,000 alone", () => {
    const all = Array.from({ length: 2000 }, (_, index) =>
      aPurchase({ key: `purchase-${index}`, lines: [line] }),
    );
    const shown = all.slice(100, 125).map(referenceText);
    const rows = pictureOf({ customers: [aCustomer(all)] }, TERMS, NOW, shown);
    expect(rows.map(({ key }) => key)).toEqual(all.slice(100, 125).map(({ key }) => key));
  });
});
