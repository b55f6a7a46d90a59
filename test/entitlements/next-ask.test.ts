import {
  endedLongAgo,
  isLongOver,
  lastEnd,
  lastHeard,
  nextAsk,
  unsettledSince,
} from "../../lib/entitlements/next-ask.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY } from "../../testing/support/stores/purchases.ts";
import { aPeriod, at, HOUR, inDays, marked, MINUTE, refunded, signed } from "./history.ts";

const SECOND = 1000;
/** All questions after a moment while no answer tells anything new, as `reason days`. */
const asksOf = (purchase: Purchase, after: number, count: number, wasAsked = true): string[] => {
  const asks: string[] = [];
  for (let ask = nextAsk(purchase, after, wasAsked); ask !== null && asks.length < count;) {
    asks.push(`${ask.because} ${inDays(ask.at)}`);
    ask = nextAsk(purchase, ask.at, true);
  }
  return asks;
};
const days = (from: number, ...delays: readonly number[]): number[] =>
  delays.map((delay) => (at(from) + delay - at(0)) / DAY);
const renewals = (...times: readonly number[]) => times.map((time) => `renewal ${time}`);

const CLOSELY = [5 * SECOND, 2 * MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR, 6 * HOUR];
const month = aPeriod("2", "monthly", -10, 20);
const of = (...lines: readonly Line[]): Purchase => aPurchase({ lines });
const google = (line: Partial<Line>): Purchase => ({
  ...of(aLine({ transactionIdentifier: null, startsAt: at(-10), endsAt: at(20), ...line })),
  store: "android-store",
});

describe("the App Store is asked", () => {
  test("an hour before an end, closely after it, then daily", () => {
    const asks = asksOf(of(month), at(19), 100);
    expect(asks.slice(0, 9)).toEqual(
      renewals(...days(20, -HOUR, ...CLOSELY, 6 * HOUR + DAY, 6 * HOUR + 2 * DAY)),
    );
    expect(asks.at(-1)).toBe(`renewal ${20 + 59.25}`);
  });
  test("at the end of a shorter period only", () => {
    const lasting = (hours: number) => of(aPeriod("2", "monthly", 0, hours / 24));
    expect(asksOf(lasting(1), at(0) - 1, 1)).toEqual(renewals(...days(1 / 24, 5 * SECOND)));
    expect(asksOf(lasting(2), at(0) - 1, 2)).toEqual(renewals(...days(2 / 24, -HOUR, 5 * SECOND)));
  });
  test("rarely after an end that it has called over, for 60 days", () => {
    const purchase = { ...of(month), renewal: aRenewal({ willRenew: false, signedAt: at(20) }) };
    expect(asksOf(purchase, at(20), 9)).toEqual(renewals(21, 27, 50));
  });
  test("closely after the end of a grace period too", () => {
    const renewal = aRenewal({ graceEndsAt: at(26), isInBillingRetry: true, signedAt: at(20) });
    const asks = asksOf({ ...of(month), renewal }, at(26), 3);
    expect(asks).toEqual(renewals(...days(26, ...CLOSELY.slice(0, 3))));
  });
  test("ever more rarely after a purchase, for a refund", () => {
    const year = aPeriod("2", "yearly", 0, 365);
    expect(asksOf(of(year), at(0), 6)).toEqual([1, 7, 30, 121, 212, 303].map((day) => `refund ${day}`));
    const forever = aLine({ nature: "non_consumable", startsAt: at(0), endsAt: null });
    expect(asksOf(of(forever), at(0), 4)).toEqual([1, 7, 30, 121].map((day) => `refund ${day}`));
    expect(asksOf(of(forever), at(30 + 40 * 91), 1)).toEqual([`refund ${30 + 41 * 91}`]);
    const pass = aLine({ nature: "non_renewing", startsAt: at(0), endsAt: null });
    expect(asksOf(of(pass), at(0), 9).at(-1)).toBe("refund 394");
  });
  test("until an hour before a period's end", () => {
    const lasting = (more: number) => of({ ...aPeriod("2", "monthly", 0, 30), endsAt: at(30) + HOUR + more });
    expect(asksOf(lasting(0), at(29), 1)).toEqual(["renewal 30"]);
    expect(asksOf(lasting(1), at(29), 1)).toEqual(["refund 30"]);
  });
  test("for refunds since the purchase, not since each renewal", () => {
    const renewed = aPeriod("3", "monthly", 20, 50);
    expect(asksOf(of(month, renewed), at(20), 1)).toEqual([`renewal ${days(50, -HOUR)[0]}`]);
    expect(asksOf(of(month, { ...renewed, endsAt: at(385) }), at(20), 1)).toEqual(["refund 111"]);
  });
  test("likewise after a refund, which may be taken back", () => {
    const year = { ...aPeriod("2", "yearly", -10, 355), ...refunded(0) };
    expect(asksOf(of(year), at(0), 3)).toEqual(["refund 1", "refund 7", "refund 30"]);
  });
  test("never about consumables, nor about what was bought in Xcode", () => {
    expect(nextAsk(of(aLine({ nature: "consumable", endsAt: null })), at(0), false)).toBeNull();
    expect(nextAsk({ ...of(month), environment: "xcode" }, at(0), false)).toBeNull();
  });
});

describe("what is unsettled", () => {
  const cut = aPeriod("3", "yearly", -5, 360);
  const later = aPeriod("4", "monthly", 0, 30);
  test.each<[what: string, purchase: Purchase, since: number | null]>([
    ["nothing", of(month), null],
    ["an upgrade's mark without the upgrade", of({ ...month, ...marked(5) }), -10],
    ["an end that only the next period's start tells", of(cut, later), 0],
    ["not one that was signed since", of({ ...cut, ...signed(0) }, later), null],
    ["not one that is marked", of({ ...cut, ...marked(0) }, later), null],
    ["not one that was refunded", of({ ...cut, ...refunded(0) }, later), null],
    [
      "a renewal without its transaction",
      { ...of(month), renewal: aRenewal({ periodEndsAt: at(50), signedAt: at(20) }) },
      20,
    ],
  ])("is %s", (_, purchase, since) => {
    const found = unsettledSince(purchase, at(10));
    expect(found === null ? null : inDays(found)).toBe(since);
  });
  test("is asked about at once, and after that rarely", () => {
    const purchase = of(cut, later);
    expect(asksOf(purchase, at(0), 2, false)).toEqual([`unsettled ${days(0, 5 * SECOND)[0]}`, "unsettled 1"]);
    expect(asksOf(purchase, at(0), 2)).toEqual(["unsettled 1", "unsettled 7"]);
  });
  test("is an end passed since the last answer, asked about once", () => {
    const told = of({ ...month, ...signed(10) });
    const next = `renewal ${20.25 + 2}`;
    expect(asksOf(told, at(22), 2, false)).toEqual([`renewal ${days(22, 5 * SECOND)[0]}`, next]);
    expect(asksOf(told, at(22), 1)).toEqual([next]);
    expect(asksOf(told, at(15), 1, false)).toEqual([`renewal ${days(20, -HOUR)[0]}`]);
    expect(asksOf(of({ ...month, ...signed(20) }), at(22), 1, false)).toEqual([next]);
    expect(asksOf(told, at(81), 1, false)).toEqual([]);
  });
  test("is an end that only the renewal info names, until then", () => {
    const purchase = { ...of(month), renewal: aRenewal({ periodEndsAt: at(51), signedAt: at(20) }) };
    expect(unsettledSince(purchase, at(51) - 1)).toBe(at(20));
    expect(unsettledSince(purchase, at(51))).toBeNull();
    expect(asksOf(purchase, at(51) - 1, 1)).toEqual(renewals(...days(51, 5 * SECOND)));
  });

  test("is nothing where no period is known, or all are long over", () => {
    expect(nextAsk(of(), at(0), false)).toBeNull();
    expect(nextAsk(of(month, aPeriod("3", "monthly", 20, 50)), at(900), false)).toBeNull();
  });
  test("is no longer, once its own end is past", () => {
    expect(unsettledSince(of(cut, later), at(360))).toBeNull();
    expect(unsettledSince(of({ ...month, ...marked(5) }), at(20))).toBeNull();
  });
});

describe("Google is asked", () => {
  test("closely after an end, then daily, while it is not over", () => {
    expect(asksOf(google({ willRenew: true }), at(0), 7)).toEqual(
      renewals(...days(20, ...CLOSELY, 6 * HOUR + DAY)),
    );
  });
  test("rarely about what is over, until it drops the purchase", () => {
    const expired = google({ standing: "expired", verifiedAt: at(20) });
    expect(asksOf(expired, at(20), 4)).toEqual(renewals(21, 27, 50, 141));
    expect(asksOf(google({ willRenew: false, verifiedAt: at(20) }), at(20), 2)).toEqual(renewals(21, 27));
  });
  test("about the lines that are not over, where there are any", () => {
    const [line] = google({ willRenew: true }).lines;
    const both = {
      ...google({ standing: "expired" }),
      lines: google({ standing: "expired" }).lines.concat(line ?? []),
    };
    expect(asksOf(both, at(10), 1)).toEqual(renewals(...days(20, 5 * SECOND)));
  });
  test("daily about a payment that failed, whatever end it names", () => {
    for (const standing of ["grace_period", "billing_retry", "paused"] as const)
      expect(asksOf(google({ standing }), at(0), 2)).toEqual(renewals(1, 2));
  });
  test("every six hours while the payment is pending", () => {
    const pending = { ...google({}), lines: [], verifiedAt: at(0) };
    expect(asksOf(pending, at(0), 2)).toEqual(["payment 0.25", "payment 0.5"]);
  });
  test("not about one-time purchases, nor about what was replaced", () => {
    expect(nextAsk(google({ nature: "consumable", endsAt: null }), at(0), false)).toBeNull();
    expect(nextAsk({ ...google({}), replacedBy: purchaseKey("9") }, at(0), false)).toBeNull();
  });
});

test("a purchase is long over 60 days after its last news", () => {
  const ended = of({ ...month, ...signed(0) });
  expect([lastEnd(ended), lastHeard(ended)]).toEqual([at(20), at(0)]);
  for (const isOver of [isLongOver, endedLongAgo]) {
    expect(isOver(ended, at(80) - 1)).toBe(false);
    expect(isOver(ended, at(80))).toBe(true);
  }
  const heard = of({ ...month, ...signed(30) });
  expect([isLongOver(heard, at(80)), isLongOver(heard, at(90))]).toEqual([false, true]);
  const named = { ...ended, renewal: aRenewal({ periodEndsAt: at(50), signedAt: at(1) }) };
  expect([lastEnd(named), lastHeard(named)]).toEqual([at(50), at(1)]);
  expect(lastEnd(of())).toBe(0);
  const endless = of(aLine({ nature: "non_consumable", endsAt: null, ...signed(0) }));
  expect([isLongOver(endless, at(900)), endedLongAgo(endless, at(900))]).toEqual([false, false]);
  expect(isLongOver({ ...endless, store: "android-store" }, at(900))).toBe(true);
  expect(isLongOver(of(...endless.lines, month), at(900))).toBe(false);
});
