import { nextRefresh } from "../../lib/freshness/refresh-times.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const NAMED = NOW + 30 * DAY;

type RenewalChanges = Parameters<typeof aRenewal>[0];

/** A subscription with these periods, whose renewal info names an end that none of them has. */
const untold = (lines: readonly Partial<Line>[], renewal: RenewalChanges = {}) =>
  aPurchase({
    lines: lines.map((line, index) =>
      aLine({ transactionIdentifier: String(index), event: String(index), ...line }),
    ),
    renewal: aRenewal({ periodEndsAt: NAMED, signedAt: NOW, ...renewal }),
  });
const MONTH = { startsAt: NOW - 20 * DAY, endsAt: NOW + 10 * DAY, verifiedAt: NOW - 20 * DAY };
const YEAR = { startsAt: NOW - 100 * DAY, endsAt: NOW + 265 * DAY, verifiedAt: NOW - 100 * DAY };
const refundedAt = (at: number) => ({ revokedAt: at, revokedSince: at, refundedBy: at });

/** Periods that a lineage may have beside the one that only the renewal info names. */
const BESIDE: readonly (readonly [what: string, lines: readonly Partial<Line>[]])[] = [
  ["a period that ends earlier", [MONTH]],
  ["a period that was over long ago", [{ startsAt: NOW - 130 * DAY, endsAt: NOW - 100 * DAY }]],
  ["a year that runs", [YEAR]],
  ["a year that was signed with the renewal info", [{ ...YEAR, verifiedAt: NOW }]],
  ["a year that was signed a moment after it", [{ ...YEAR, verifiedAt: NOW + 2 }]],
  ["a year that was refunded", [{ ...YEAR, verifiedAt: NOW, ...refundedAt(NOW - DAY) }]],
  ["a year that was refunded since", [{ ...YEAR, verifiedAt: NOW, ...refundedAt(NOW) }]],
  ["a year that is marked as upgraded", [{ ...YEAR, verifiedAt: NOW, standing: "expired" }]],
  [
    "a renewal that is charged ahead",
    [
      { ...MONTH, endsAt: NOW + DAY, verifiedAt: NOW },
      { startsAt: NOW + DAY, endsAt: NOW + 366 * DAY, verifiedAt: NOW },
    ],
  ],
  [
    "a year, and a later upgrade of it that is marked, too",
    [
      { ...YEAR, productIdentifier: "year", verifiedAt: NOW },
      {
        productIdentifier: "plus",
        startsAt: NOW - DAY,
        endsAt: NOW + 29 * DAY,
        verifiedAt: NOW,
        standing: "expired",
      },
    ],
  ],
];

describe.each(BESIDE)("a period that only the renewal info names, beside %s", (_, lines) => {
  test("is asked about at once, and after an answer daily until its end", () => {
    expect(nextRefresh(untold(lines), NOW)?.at).toBeLessThanOrEqual(NOW + 5 * SECOND + 2);
    const times: number[] = [];
    for (let at = NOW; at < NAMED;) {
      // The store signs all of it anew, and tells nothing else.
      const signed = lines.map((line) => ({ ...line, verifiedAt: at }));
      const next = nextRefresh(untold(signed, { signedAt: at }), at, at);
      expect(next?.at).toBeGreaterThan(at);
      expect(next?.at).toBeLessThanOrEqual(at + DAY);
      at = next?.at ?? Infinity;
      times.push(at);
    }
    // Beside the steps of the known periods.
    expect(times.length).toBeLessThanOrEqual(2 * 30 + 10);
    expect(times).toContain(NAMED);
  });
});

test("a period that only the renewal info names is asked about at its own time of day, whatever the answer moves", () => {
  const after = NOW + 7 * HOUR;
  expect(nextRefresh(untold([YEAR]), after, after)).toEqual({ at: NOW + DAY, because: "renewal-unseen" });
  expect(nextRefresh(untold([YEAR]), NAMED - 1, NAMED - 1)?.at).toBe(NAMED);
});

describe("nothing is untold where the renewal info", () => {
  test.each<[what: string, lines: readonly Partial<Line>[], renewal: RenewalChanges]>([
    ["names no end", [YEAR], { periodEndsAt: null }],
    ["names the end of a known period", [YEAR], { periodEndsAt: YEAR.endsAt }],
    ["names one that a copy under another id has", [YEAR, { ...YEAR, endsAt: NAMED, event: "0" }], {}],
    ["reports that the payment of it is retried", [YEAR], { isInBillingRetry: true }],
    ["names one that is over", [YEAR], { periodEndsAt: NOW }],
  ])("%s", (_, lines, renewal) => {
    for (const asked of [null, NOW])
      expect(nextRefresh(untold(lines, renewal), NOW, asked)?.because).not.toBe("renewal-unseen");
  });
  test("is not there", () => {
    expect(nextRefresh(aPurchase({ lines: [aLine(YEAR)] }), NOW, NOW)?.at).toBeGreaterThan(NOW + DAY);
  });
});

describe("the end that only the renewal info names", () => {
  const at = (after: number, lines: readonly Partial<Line>[], renewal: RenewalChanges = {}) =>
    nextRefresh(untold(lines, { signedAt: after, ...renewal }), after, after);
  const over = [{ startsAt: NOW - 130 * DAY, endsAt: NOW - 100 * DAY }];

  test("may be renewed, so it is followed like any other", () => {
    for (const lines of [
      over,
      [{ ...YEAR, standing: "expired" as const }],
      [{ ...YEAR, ...refundedAt(NOW) }],
    ]) {
      const because = "renewal";
      expect(at(NAMED, lines)).toEqual({ at: NAMED + 5 * SECOND, because });
      expect(at(NAMED + HOUR, lines)).toEqual({ at: NAMED + 6 * HOUR, because });
      expect(at(NAMED + 3 * DAY, lines)?.at).toBe(NAMED + 4 * DAY);
    }
    expect(at(NAMED + 60 * DAY, over)).toBeNull();
  });
  test("is followed beside a restored copy of what was left for it, which lacks the mark or the refund", () => {
    const year = { ...YEAR, event: "w1", productIdentifier: "year" };
    const restored = { ...year, startsAt: NOW - 20 * DAY, verifiedAt: NOW - 20 * DAY };
    for (const left of [{ standing: "expired" as const }, refundedAt(NOW - 50 * DAY)])
      expect(at(NAMED, [{ ...year, ...left }, restored])).toEqual({
        at: NAMED + 5 * SECOND,
        because: "renewal",
      });
  });
  test("is followed by its grace period, and closely after that", () => {
    const graceEndsAt = NAMED + 3.3 * DAY;
    const grace = { isInBillingRetry: true, graceEndsAt };
    const long = [{ startsAt: NOW - 465 * DAY, endsAt: NOW - 100 * DAY }];
    expect(at(NAMED + 3.2 * DAY, long, grace)).toEqual({
      at: graceEndsAt + 5 * SECOND,
      because: "grace-period-end",
    });
    expect(at(graceEndsAt + 5 * SECOND, long, grace)?.at).toBe(graceEndsAt + 120 * SECOND);
  });
  test("is followed while its payment is retried", () => {
    const next = at(NAMED + HOUR, over, { isInBillingRetry: true });
    expect(next?.because).toBe("renewal");
    expect(next?.at).toBeLessThanOrEqual(NAMED + HOUR + DAY);
    expect(at(NAMED + 60 * DAY, over, { isInBillingRetry: true })).toBeNull();
  });
  test("is followed sparsely once the store has said that it was the last", () => {
    const because = "return";
    expect(at(NAMED + HOUR, over, { willRenew: false })).toEqual({ at: NAMED + DAY, because });
  });
  test("is not where a known period runs on, or began since", () => {
    for (const lines of [[YEAR], [...over, YEAR]])
      expect(at(NAMED, lines)?.at).toBeGreaterThan(NAMED + 7 * DAY);
    const next = {
      startsAt: NAMED,
      endsAt: NAMED + 365 * DAY,
      verifiedAt: NAMED,
      ...refundedAt(NAMED + DAY),
    };
    expect(at(NAMED + DAY, [...over, next], { willRenew: false })?.because).toBe("refund");
  });
});

test("a payment that failed is asked about daily, wherever each answer moves its next attempt", () => {
  const END = NOW + 10 * DAY;
  for (const hours of [1, 6, 12])
    for (const said of [{ isInBillingRetry: true }, { graceEndsAt: END + 16 * DAY }]) {
      let asked = 0;
      for (let at = END + DAY; at < END + 15 * DAY; asked += 1) {
        const periodEndsAt = at + hours * HOUR;
        const next = nextRefresh(untold([MONTH], { ...said, periodEndsAt, signedAt: at }), at, at);
        at = next?.at ?? Infinity;
      }
      // Daily by the known end, and by the one that is named before it.
      expect(asked).toBeLessThanOrEqual(2 * 14 + 2);
    }
});

describe("an end that only the renewal info names, and the app brings", () => {
  const before = untold([YEAR]);
  const brought = (minutes: number) =>
    untold([YEAR, { ...MONTH, verifiedAt: NOW + minutes * 60 * SECOND }], { signedAt: NOW });
  test("is asked about daily where it was named before, whatever is signed anew", () => {
    const heard = NOW + 5 * 60 * SECOND;
    expect(nextRefresh(brought(5), heard, null, before)?.at).toBe(NOW + DAY);
    // Without what was known before, it is asked about at once.
    expect(nextRefresh(brought(5), heard)?.at).toBe(heard + 5 * SECOND);
  });
  test("is asked about at once where its payment was retried before, or it differs by more than a minute", () => {
    const of = (changes: RenewalChanges) => untold([YEAR], changes);
    const soon = { at: NOW + 5 * SECOND, because: "renewal-unseen" };
    expect(nextRefresh(of({}), NOW, null, of({ isInBillingRetry: true }))).toEqual(soon);
    expect(nextRefresh(of({}), NOW, null, of({ periodEndsAt: NAMED + 60 * SECOND + 1 }))).toEqual(soon);
    expect(nextRefresh(of({}), NOW, null, of({ periodEndsAt: NAMED + 60 * SECOND }))?.at).toBe(NOW + DAY);
  });
  test("is asked about at once after the last signing, as the renewal info may be of some hours ago", () => {
    expect(nextRefresh(untold([{ ...MONTH, verifiedAt: NOW + 7 * HOUR }]), NOW + 7 * HOUR)?.at).toBe(
      NOW + 7 * HOUR + 5 * SECOND,
    );
  });
  test("is asked about at once where another one was named before, or none", () => {
    const other = untold([YEAR], { periodEndsAt: NAMED + 7 * DAY });
    const known = aPurchase({ lines: [aLine(YEAR)] });
    for (const one of [other, known])
      expect(nextRefresh(brought(0), NOW, null, one)?.at).toBe(NOW + 5 * SECOND);
  });
});
