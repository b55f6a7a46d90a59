import {
  endedLongAgo,
  hasDispute,
  isLongOver,
  isWordOfEnd,
  lastEnd,
  lastHeard,
  nextRefresh,
  refreshReasonAt,
} from "../../lib/freshness/refresh-times.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../support/purchases.ts";

const END = NOW + 20 * DAY;
const lifetime = aLine({ nature: "non_consumable", endsAt: null });
const ended = (more: Partial<Purchase> = {}): Purchase =>
  aPurchase({ verifiedAt: NOW, lines: [aLine({ endsAt: END }), aLine({ endsAt: NOW })], ...more });

test("a purchase's last end is that of the line that ends last", () => {
  expect(lastEnd(ended())).toBe(END);
  expect(lastEnd(aPurchase({ lines: [lifetime] }))).toBe(0);
  expect(lastEnd(aPurchase({ lines: [] }))).toBe(0);
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

describe("the reason of a refresh", () => {
  const pending = aPurchase({ store: "android-store", lines: [], verifiedAt: NOW });
  const onHold = aPurchase({
    store: "android-store",
    lines: [aLine({ standing: "billing_retry", endsAt: END, transactionIdentifier: null })],
  });

  test.each<[what: string, purchase: Purchase, after: number, asked: number | null]>([
    ["of facts that came by themselves", aPurchase(), NOW, null],
    ["of a pending payment", pending, NOW + 5, null],
    ["of a purchase on hold", onHold, NOW + 5, null],
    [
      "after an answer",
      aPurchase({ lines: [aLine({ startsAt: NOW - 100 * DAY, endsAt: END, standing: "expired" })] }),
      NOW,
      NOW,
    ],
  ])("is found by its time: %s", (_, purchase, after, asked) => {
    const next = nextRefresh(purchase, after, asked);
    expect(next).not.toBeNull();
    expect(refreshReasonAt(purchase, next?.at ?? 0)).toBe(next?.because);
  });
  test("is none where somebody asked for it at another time", () => {
    expect(refreshReasonAt(aPurchase(), NOW + 5)).toBeNull();
    expect(refreshReasonAt(aPurchase({ environment: "xcode" }), END)).toBeNull();
  });
});

describe("a period whose refund was reversed, and that was not signed since another product began", () => {
  const YEAR = { startsAt: NOW - 100 * DAY, endsAt: NOW + 265 * DAY };
  const BEGAN = NOW - DAY;
  const givenBack = (more: Partial<Line> = {}): Line =>
    aLine({
      transactionIdentifier: "1",
      productIdentifier: "year",
      refundedBy: NOW - 50 * DAY,
      revokedSince: NOW - 50 * DAY,
      verifiedAt: NOW - 40 * DAY,
      ...YEAR,
      ...more,
    });
  const plus = (startsAt = BEGAN): Line =>
    aLine({
      transactionIdentifier: "2",
      productIdentifier: "plus",
      startsAt,
      endsAt: NOW + 200 * DAY,
      verifiedAt: startsAt,
    });
  const asks = (after: number, asked: number | null, ...lines: readonly Line[]) =>
    nextRefresh(aPurchase({ lines }), after, asked);

  test("is asked about closely for six hours, then sparsely", () => {
    const lines = [givenBack(), plus()];
    const hour = DAY / 24;
    expect(asks(BEGAN, null, ...lines)).toEqual({ at: BEGAN + 5000, because: "upgrade" });
    expect(asks(BEGAN + 6 * hour - 1, null, ...lines)).toEqual({ at: BEGAN + 6 * hour, because: "upgrade" });
    expect(asks(BEGAN + 6 * hour, null, ...lines)).toEqual({ at: BEGAN + DAY, because: "upgrade" });
    expect(asks(BEGAN + DAY, null, ...lines)).toEqual({ at: BEGAN + 7 * DAY, because: "upgrade" });
  });
  test("is asked about sparsely after an answer that left it out", () => {
    expect(asks(BEGAN, BEGAN, givenBack(), plus())).toEqual({ at: BEGAN + DAY, because: "upgrade" });
  });
  test("is asked about until its end", () => {
    const short = givenBack({ endsAt: BEGAN + 3 * DAY });
    expect(asks(BEGAN, null, short, plus())?.because).toBe("upgrade");
    expect(asks(BEGAN + DAY, null, short, plus())?.because).not.toBe("upgrade");
  });
  test.each<[what: string, lines: readonly Line[]]>([
    ["it was signed since", [givenBack({ verifiedAt: BEGAN }), plus()]],
    ["the other began at its end", [givenBack({ endsAt: BEGAN }), plus()]],
    ["there was no refund", [givenBack({ refundedBy: null, revokedSince: null }), plus()]],
    ["the refund stands", [givenBack({ revokedAt: NOW - 50 * DAY }), plus()]],
    ["the other is the same product", [givenBack(), { ...plus(), productIdentifier: "year" }]],
  ])("is none where %s", (_, lines) => {
    expect(asks(BEGAN, null, ...lines)?.because).not.toBe("upgrade");
  });
});

describe("a period that ends after the one that began last", () => {
  const LATE = NOW + 265 * DAY;
  const hour = DAY / 24;
  const refund = { refundedBy: NOW - 50 * DAY, revokedSince: NOW - 50 * DAY };
  const year = (more: Partial<Line> = {}): Line =>
    aLine({
      transactionIdentifier: "1",
      event: "w1",
      productIdentifier: "year",
      startsAt: NOW - 100 * DAY,
      endsAt: LATE,
      verifiedAt: NOW,
      ...more,
    });
  const month = aLine({
    transactionIdentifier: "2",
    event: "w2",
    startsAt: NOW - 10 * DAY,
    endsAt: END,
    verifiedAt: NOW - 10 * DAY,
  });
  const atItsEnd = (line: Line, renewal: Renewal | null = null) =>
    nextRefresh(aPurchase({ lines: [line, month], renewal }), LATE - 2 * hour);

  test("is asked about at its end where its refund was reversed, or the renewal info is about it", () => {
    const ahead = { at: LATE - hour, because: "renewal-ahead" };
    expect(atItsEnd(year(refund))).toEqual(ahead);
    expect(atItsEnd(year(), aRenewal({ periodEndsAt: LATE, signedAt: NOW }))).toEqual(ahead);
  });
  test("is not, where the other took its place, or it is refunded", () => {
    expect(atItsEnd(year())).toBeNull();
    expect(atItsEnd(year(), aRenewal({ periodEndsAt: END, signedAt: NOW }))).toBeNull();
    expect(atItsEnd(year({ ...refund, revokedAt: NOW - 50 * DAY }))).toBeNull();
  });
  test("is asked about after its refund, until its end: the refund may be reversed", () => {
    const since = NOW - 5 * DAY;
    const refunded = (endsAt: number) =>
      aPurchase({
        lines: [year({ endsAt, revokedAt: since, revokedSince: since, refundedBy: since }), month],
      });
    expect(nextRefresh(refunded(LATE), NOW)).toEqual({ at: since + 7 * DAY, because: "refund" });
    expect(nextRefresh(refunded(NOW), NOW)?.because).not.toBe("refund");
    expect(nextRefresh(refunded(NOW + 1), NOW)?.because).toBe("refund");
  });
});

test("transaction ids of one event disagree where some of them are refunded, and they were not read together", () => {
  const copy = (transactionIdentifier: string, revokedAt: number | null, verifiedAt: number): Line =>
    aLine({ transactionIdentifier, event: "w", revokedAt, verifiedAt });
  const disagree = (...lines: readonly Line[]): boolean => hasDispute(aPurchase({ lines }));
  const minutes = 60_000;
  const refunded = copy("1", NOW, NOW);
  expect(disagree(refunded, copy("2", null, NOW + 10 * minutes + 1))).toBe(true);
  expect(disagree(refunded, copy("2", null, NOW + 10 * minutes))).toBe(false);
  expect(disagree(refunded, copy("2", NOW, NOW + DAY))).toBe(false);
  expect(disagree(copy("1", null, NOW), copy("2", null, NOW + DAY))).toBe(false);
  const other = { ...copy("3", null, NOW), event: "other" };
  expect(disagree(refunded, copy("2", null, NOW + DAY), other)).toBe(true);
});
