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
const refunds = (...times: readonly number[]) => times.map((time) => `refund ${time}`);

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

  const lasting = (hours: number) => of(aPeriod("2", "monthly", 0, hours / 24));
  const over = { ...of(month), renewal: aRenewal({ willRenew: false, signedAt: at(20) }) };
  const failing = aRenewal({ graceEndsAt: at(26), isInBillingRetry: true, signedAt: at(20) });
  const year = aPeriod("2", "yearly", 0, 365);
  const forever = of(aLine({ nature: "non_consumable", startsAt: at(0), endsAt: null }));
  const pass = of(aLine({ nature: "non_renewing", startsAt: at(0), endsAt: null }));
  const anHourAfterDay30 = (more: number) =>
    of({ ...aPeriod("2", "monthly", 0, 30), endsAt: at(30) + HOUR + more });
  const renewed = aPeriod("3", "monthly", 20, 50);
  test.each<[rule: string, purchase: Purchase, after: number, asks: readonly string[]]>([
    ["at the end only of an hour's period", lasting(1), at(0) - 1, renewals(...days(1 / 24, 5 * SECOND))],
    ["before the end of a longer one", lasting(2), at(0) - 1, renewals(...days(2 / 24, -HOUR, 5 * SECOND))],
    ["rarely after an end that it has called over", over, at(20), renewals(21, 27, 50)],
    [
      "closely after the end of a grace period",
      { ...of(month), renewal: failing },
      at(26),
      renewals(...days(26, ...CLOSELY.slice(0, 3))),
    ],
    ["ever more rarely for a refund", of(year), at(0), refunds(1, 7, 30, 121, 212, 303)],
    ["likewise about a lifetime", forever, at(0), refunds(1, 7, 30, 121)],
    ["quarterly for ever", forever, at(30 + 40 * 91), refunds(30 + 41 * 91)],
    ["for 400 days about a pass", pass, at(303), refunds(394)],
    ["for a refund until an hour before an end", anHourAfterDay30(1), at(29), refunds(30)],
    ["for no refund from then on", anHourAfterDay30(0), at(29), renewals(30)],
    ["not for a refund since each renewal", of(month, renewed), at(20), renewals(...days(50, -HOUR))],
    ["for one since the purchase", of(month, { ...renewed, endsAt: at(385) }), at(20), refunds(111)],
    ["whether a refund was taken back", of({ ...year, ...refunded(10) }), at(10), refunds(11, 17, 40)],
  ])("%s", (_, purchase, after, asks) => {
    expect(asksOf(purchase, after, asks.length)).toEqual(asks);
  });

  test("for 60 days after an end that it has called over, and 400 after a pass", () => {
    expect([asksOf(over, at(50), 1), asksOf(pass, at(394), 1)]).toEqual([[], []]);
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
  const expired = google({ standing: "expired", verifiedAt: at(20) });
  const both = { ...expired, lines: [...expired.lines, ...google({ willRenew: true }).lines] };
  const pending = { ...google({}), lines: [], verifiedAt: at(0) };
  const daily = renewals(1, 2);
  test.each<[rule: string, purchase: Purchase, after: number, asks: readonly string[]]>([
    [
      "closely after an end, then daily, while it is not over",
      google({ willRenew: true }),
      at(0),
      renewals(...days(20, ...CLOSELY, 6 * HOUR + DAY)),
    ],
    ["rarely about what is over, until it drops the purchase", expired, at(20), renewals(21, 27, 50, 141)],
    [
      "rarely about what is cancelled",
      google({ willRenew: false, verifiedAt: at(20) }),
      at(20),
      renewals(21, 27),
    ],
    ["about the lines that are not over", both, at(10), renewals(...days(20, 5 * SECOND))],
    ["daily in a grace period, whatever end it names", google({ standing: "grace_period" }), at(0), daily],
    ["daily about what is on hold", google({ standing: "billing_retry" }), at(0), daily],
    ["daily about what is paused", google({ standing: "paused" }), at(0), daily],
    ["every six hours while the payment is pending", pending, at(0), ["payment 0.25", "payment 0.5"]],
  ])("%s", (_, purchase, after, asks) => {
    expect(asksOf(purchase, after, asks.length)).toEqual(asks);
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
