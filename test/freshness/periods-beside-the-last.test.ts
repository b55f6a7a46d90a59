import { hasDispute, nextRefresh } from "../../lib/freshness/refresh-times.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const END = NOW + 20 * DAY;

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
  test("is not, where the other took its place", () => {
    expect(atItsEnd(year())).toBeNull();
    expect(atItsEnd(year(), aRenewal({ periodEndsAt: END, signedAt: NOW }))).toBeNull();
  });
  test("is asked about a last time before its end where it is refunded", () => {
    const refunded = year({ ...refund, revokedAt: NOW - 50 * DAY });
    expect(atItsEnd(refunded)).toEqual({ at: LATE - hour, because: "refund" });
    expect(nextRefresh(aPurchase({ lines: [refunded, month] }), LATE - hour)).toBeNull();
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

describe("a renewal that was charged ahead, and another product bought before it began, of which one overtook the other", () => {
  const hour = DAY / 24;
  const year = (startsAt: number, more: Partial<Line> = {}): Line =>
    aLine({
      transactionIdentifier: "2",
      event: "w2",
      productIdentifier: "year",
      startsAt,
      endsAt: startsAt + 365 * DAY,
      verifiedAt: NOW,
      ...more,
    });
  const month = aLine({
    transactionIdentifier: "1",
    event: "w1",
    startsAt: NOW + 16 * hour,
    endsAt: NOW + 30 * DAY + 16 * hour,
    verifiedAt: NOW,
  });
  const next = (bought: Line, renewal: Renewal | null = null, after = NOW, asked: number | null = null) =>
    nextRefresh(aPurchase({ lines: [month, bought], renewal }), after, asked);
  const soon = { at: NOW + 5000, because: "upgrade" };
  test("are asked about at once, and closely for six hours without an answer", () => {
    expect(next(year(NOW))).toEqual(soon);
    expect(next(year(NOW), null, NOW + hour)).toEqual({ at: NOW + 6 * hour, because: "upgrade" });
    expect(next(year(NOW), null, NOW + 6 * hour)?.because).not.toBe("upgrade");
    expect(next(year(NOW + 16 * hour - 2 * DAY))).toEqual(soon);
  });
  test("counted from the last signing of both", () => {
    const later = year(NOW, { verifiedAt: NOW + hour });
    expect(next(later, null, NOW + hour)).toEqual({ at: NOW + hour + 5000, because: "upgrade" });
  });
  test("also where the renewal info is older than the later charge", () => {
    const renewal = (signedAt: number) => aRenewal({ periodEndsAt: null, signedAt });
    expect(next(year(NOW), renewal(NOW - 1))).toEqual(soon);
    expect(next(year(NOW), renewal(NOW))?.because).not.toBe("upgrade");
  });
  test.each<[what: string, bought: Line, asked: number | null]>([
    ["the store has answered", year(NOW), NOW],
    ["they began together", year(NOW + 16 * hour), null],
    ["more than two days lie between them", year(NOW + 16 * hour - 2 * DAY - 1), null],
    ["one was over when the other began", year(NOW, { endsAt: NOW + 16 * hour }), null],
    ["they are of one product", year(NOW, { productIdentifier: month.productIdentifier }), null],
    ["one of them is refunded", year(NOW, { revokedAt: NOW, refundedBy: NOW, revokedSince: NOW }), null],
  ])("are not where %s", (_, bought, asked) => {
    expect(next(bought, null, NOW, asked)?.because).not.toBe("upgrade");
  });
});

test("a subscription's times are those of its periods, whatever else its lineage has", () => {
  const period = aLine({ transactionIdentifier: "1", event: "w1" });
  const pass = aLine({ transactionIdentifier: "2", event: "w2", nature: "consumable", startsAt: NOW + DAY });
  const next = (after: number, ...lines: Parameters<typeof aLine>[0][]) =>
    nextRefresh(aPurchase({ lines: lines.map((line) => aLine(line)) }), after);
  expect(next(NOW, period, pass)).toEqual(next(NOW, period));
  expect(next(NOW, pass)).toBeNull();
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
