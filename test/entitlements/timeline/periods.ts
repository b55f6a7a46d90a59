import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { periodsOf, type Period } from "../../../lib/entitlements/subscription-periods.ts";
import { aPurchase } from "../../../testing/support/stores/purchases.ts";
import { aPeriod } from "../history.ts";

/** A lineage with another key than its transactions, so that none of them is its first. */
export const lineage = (lines: readonly Line[], more: Partial<Purchase> = {}): Purchase =>
  aPurchase({ lines, ...more, key: "lineage" });

export const periods = (lines: readonly Line[], more: Partial<Purchase> = {}): readonly Period[] => {
  const found = periodsOf(lineage(lines, more));
  expect(periodsOf(lineage(lines.toReversed(), more))).toEqual(found);
  return found;
};

export type Days = readonly [from: number, to: number, more?: Partial<Line>];
export const first = (...days: Days): Line => aPeriod("1", "basic", ...days);
/** The first one's renewal, or another purchase of its product. */
export const basic = (...days: Days): Line => aPeriod("2", "basic", ...days);
export const monthly = first(-30, 0);
