import { isInactive } from "../../lib/entitlements/entitlements.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal } from "../../testing/support/stores/purchases.ts";
import { aPeriod, at, A_MILLISECOND, held, marked, refunded, termsOf } from "./history.ts";

const isInactiveAt = (days: number, ...purchases: readonly Purchase[]): boolean =>
  isInactive(at(days), held(...purchases), termsOf());

const month = aPeriod("2", "monthly", -10, 20);
const of = (...lines: readonly Line[]): Purchase => aPurchase({ lines });
const google = (line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase => ({
  ...of(aLine({ transactionIdentifier: null, startsAt: at(-10), endsAt: at(20), ...line })),
  store: "android-store",
  ...purchase,
});
const over = { willRenew: false, signedAt: at(20) };
const renewed = (renewal: Parameters<typeof aRenewal>[0]) => ({ ...of(month), renewal: aRenewal(renewal) });
const failed = renewed({ graceEndsAt: at(26), isInBillingRetry: true, signedAt: at(20) });
const pass = aLine({ productIdentifier: "pass", nature: "non_renewing", startsAt: at(0), endsAt: null });
const upgrade = { ...aPeriod("3", "yearly", -5, 360), ...refunded(-1) };
const cut = of(aPeriod("3", "yearly", -5, 360), aPeriod("4", "monthly", 0, 30));

test.each<[rule: string, from: number, purchases: readonly Purchase[]]>([
  ["two days after an end of which nothing is said", 22, [of(month)]],
  ["at its end where the store has called it over", 20, [renewed(over)]],
  [
    "two days after the end that a renewal info names",
    52,
    [renewed({ periodEndsAt: at(50), signedAt: at(20) })],
  ],
  ["where its grace period is over", 26, [failed]],
  ["at its grace period's end", 20.5, [renewed({ ...over, graceEndsAt: at(20.5), signedAt: at(20.5) })]],
  ["not by what was signed before", 22, [renewed({ ...over, graceEndsAt: at(21), signedAt: at(20.5) })]],
  ["once the last of several purchases is", 22, [of(aPeriod("9", "monthly", -50, -20)), of(month)]],
  ["two days after a marked period's end, without its upgrade", 22, [of({ ...month, ...marked(0) })]],
  ["two days after the own end of a silently cut period", 362, [cut]],
  ["two days after Google's end", 22, [google({ willRenew: true })]],
  ["once the longest pause after Google's end is over", 114, [google({ standing: "paused" })]],
  ["at Google's word that it is over", -5, [google({ standing: "expired", endsAt: at(-5) })]],
  ["with the last day of a pass", 1, [of(pass)]],
])("a customer is inactive %s", (_, from, purchases) => {
  expect(isInactiveAt(from - A_MILLISECOND, ...purchases)).toBe(false);
  expect(isInactiveAt(from, ...purchases)).toBe(true);
});

test.each<[rule: string, purchase: Purchase]>([
  ["that was refunded, days before its end", of({ ...month, ...refunded(-1) })],
  ["whose upgrade is known, and refunded", of({ ...month, ...marked(-5) }, upgrade)],
  ["that was replaced in Google Play", google({}, { replacedBy: purchaseKey("9") })],
  ["on hold, whose end Google does not name", google({ standing: "billing_retry", endsAt: null })],
])("a purchase %s holds nobody back", (_, purchase) => {
  expect(isInactiveAt(0, purchase)).toBe(true);
});

test.each<[rule: string, purchase: Purchase]>([
  ["runs", of(month)],
  ["was paid ahead", of(aPeriod("2", "monthly", 5, 35))],
  ["lasts for ever", of(aLine({ nature: "non_consumable", endsAt: null }))],
  ["runs, and is not mapped", of(aPeriod("2", "other", -10, 20))],
])("a customer is not inactive while a purchase %s", (_, purchase) => {
  expect(isInactiveAt(0, purchase)).toBe(false);
});

test("a refunded period may be renewed from two days before its end", () => {
  const purchase = of({ ...month, ...refunded(-1) });
  expect(isInactiveAt(18 - A_MILLISECOND, purchase)).toBe(true);
  expect(isInactiveAt(18, purchase)).toBe(false);
  expect(isInactiveAt(22, purchase)).toBe(true);
});
