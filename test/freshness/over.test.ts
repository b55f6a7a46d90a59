import {
  endedLongAgo,
  endsOf,
  isLongOver,
  isWordOfEnd,
  lastEnd,
  lastHeard,
} from "../../lib/freshness/refresh-times.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const END = NOW + 20 * DAY;
const lifetime = aLine({ nature: "non_consumable", endsAt: null });
const ended = (more: Partial<Purchase> = {}): Purchase =>
  aPurchase({ verifiedAt: NOW, lines: [aLine({ endsAt: END }), aLine({ endsAt: NOW })], ...more });

test("a purchase's last end is that of the line that ends last", () => {
  expect(lastEnd(ended())).toBe(END);
  expect(lastEnd(aPurchase({ lines: [lifetime] }))).toBe(0);
  expect(lastEnd(aPurchase({ lines: [] }))).toBe(0);
});

test("a purchase ends where only its renewal info says so, too", () => {
  const named = (periodEndsAt: number | null) => ended({ renewal: aRenewal({ periodEndsAt }) });
  expect(lastEnd(named(END + DAY))).toBe(END + DAY);
  expect(endsOf(named(END + DAY)).toSorted((a, b) => a - b)).toEqual([NOW, END, END + DAY]);
  for (const one of [named(END), named(null)]) expect(endsOf(one)).toHaveLength(2);
  expect(isLongOver(named(END + 300 * DAY), END + 360 * DAY - 1)).toBe(false);
  expect(isLongOver(named(END + 300 * DAY), END + 360 * DAY)).toBe(true);
});

test("a purchase was last heard of when it was verified, or its renewal info was signed", () => {
  expect(lastHeard(ended())).toBe(NOW);
  expect(lastHeard(ended({ renewal: aRenewal({ signedAt: NOW + 1 }) }))).toBe(NOW + 1);
  expect(lastHeard(ended({ renewal: aRenewal({ signedAt: NOW - 1 }) }))).toBe(NOW);
});

test("a purchase ended long ago from 60 days after its last end on", () => {
  expect(endedLongAgo(ended(), END + 60 * DAY - 1)).toBe(false);
  expect(endedLongAgo(ended(), END + 60 * DAY)).toBe(true);
  expect(endedLongAgo(aPurchase({ lines: [lifetime] }), END + 900 * DAY)).toBe(false);
});

describe("a purchase is long over", () => {
  test("from 60 days after its last end on, or after it was last heard of", () => {
    expect(isLongOver(ended(), END + 60 * DAY - 1)).toBe(false);
    expect(isLongOver(ended(), END + 60 * DAY)).toBe(true);
    const heard = ended({ verifiedAt: END + DAY });
    expect(isLongOver(heard, END + 61 * DAY - 1)).toBe(false);
    expect(isLongOver(heard, END + 61 * DAY)).toBe(true);
  });
  test("never in the App Store where a line of it has no end", () => {
    for (const lines of [[lifetime], [aLine({ endsAt: END }), lifetime]]) {
      const purchase = aPurchase({ lines, verifiedAt: NOW });
      expect(isLongOver(purchase, END + 900 * DAY)).toBe(false);
      expect(isLongOver({ ...purchase, store: "android-store" }, END + 900 * DAY)).toBe(true);
    }
  });
});

describe("newer facts bring the word that the period was the last", () => {
  const said = (renewal: Partial<Renewal>, ...lines: readonly Line[]): Purchase =>
    aPurchase({
      lines: lines.length > 0 ? lines : [aLine({ endsAt: END })],
      renewal: aRenewal({ periodEndsAt: END, willRenew: false, signedAt: END, ...renewal }),
    });

  test("by a renewal info that was not known before", () => {
    expect(isWordOfEnd(said({}), aPurchase())).toBe(true);
    expect(isWordOfEnd(said({}), said({ signedAt: END - 1 }))).toBe(true);
    expect(isWordOfEnd(said({}), said({}))).toBe(false);
    expect(isWordOfEnd(aPurchase(), said({}))).toBe(false);
  });
  test.each<[what: string, renewal: Partial<Renewal>]>([
    ["was signed before the end", { signedAt: END - 1 }],
    ["says that it will renew", { willRenew: true }],
    ["reports a failed payment", { isInBillingRetry: true }],
    ["names a grace period that goes on", { graceEndsAt: END + DAY }],
  ])("not by one that %s", (_, renewal) => {
    expect(isWordOfEnd(said(renewal), aPurchase())).toBe(false);
  });
  test("also by one that names a grace period which is over", () => {
    expect(isWordOfEnd(said({ graceEndsAt: END }), aPurchase())).toBe(true);
  });
  test("not where the period has no end, or none is known", () => {
    expect(isWordOfEnd(said({}, aLine({ endsAt: null })), aPurchase())).toBe(false);
    expect(isWordOfEnd(said({}, lifetime), aPurchase())).toBe(false);
  });
});
