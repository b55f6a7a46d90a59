import {
  askedForAgain,
  isStillAskedFor,
  nextRefresh,
  type RefreshReason,
} from "../../lib/freshness/refresh-times.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = NOW - 10 * DAY;
const END = NOW + 20 * DAY;

/** A case: the purchase's next refresh after a moment; null: none. */
type Case = [what: string, after: number, at: number | null, because?: RefreshReason];

const expectNext = (purchase: Purchase, after: number, at: number | null, because?: RefreshReason): void => {
  expect(nextRefresh(purchase, after)).toEqual(
    at === null ? null : because === undefined ? expect.objectContaining({ at }) : { at, because },
  );
};

/** The steps that follow an end, in order, up to those of each day. */
const stepsAfter = (end: number, because: RefreshReason): Case[] => [
  ["just after the end", end, end + 5 * SECOND, because],
  ["the first step", end + 5 * SECOND, end + 2 * MINUTE, because],
  ["2 minutes", end + 2 * MINUTE, end + 10 * MINUTE, because],
  ["10 minutes", end + 10 * MINUTE, end + HOUR, because],
  ["an hour", end + HOUR, end + 6 * HOUR, because],
  ["6 hours", end + 6 * HOUR, end + DAY, because],
  ["a day less a millisecond", end + DAY - 1, end + DAY, because],
  ["a day", end + DAY, end + 2 * DAY, because],
  ["30 days and a half", end + 30.5 * DAY, end + 31 * DAY, because],
];

describe("an iOS subscription is refreshed after", () => {
  test.each<Case>([
    ["its purchase", NOW, END - HOUR, "renewal-ahead"],
    ["an hour before its end", END - HOUR, END + 5 * SECOND, "renewal"],
    ...stepsAfter(END, "renewal"),
    ["59 days", END + 59 * DAY, END + 60 * DAY, "renewal"],
    ["60 days", END + 60 * DAY, null],
  ])("%s", (_, ...expected) => {
    expectNext(aPurchase(), ...expected);
  });

  test("an hour before its end also where it does not renew: that may have been taken back", () => {
    const cancelled = aPurchase({ renewal: aRenewal({ willRenew: false }) });
    expectNext(cancelled, NOW, END - HOUR, "restart");
    expectNext(cancelled, END - HOUR, END + 5 * SECOND, "renewal");
  });
  describe("it becomes known late", () => {
    const known = (signedAt: number, purchase: Partial<Purchase> = {}): Purchase =>
      aPurchase({ lines: [aLine({ startsAt: START, endsAt: END, verifiedAt: signedAt })], ...purchase });
    test.each<[what: string, signedAt: number]>([
      ["an hour before its end", END - HOUR],
      ["seven hours after it", END + 7 * HOUR],
      ["weeks after it", END + 20.3 * DAY],
    ])("%s, at once, if the store has said nothing of its renewal", (_, signedAt) => {
      expectNext(known(signedAt), signedAt, signedAt + 5 * SECOND, "renewal");
    });
    test("whatever was known of the period before it", () => {
      const older = aLine({ transactionIdentifier: "2", startsAt: START - 30 * DAY, endsAt: START });
      const at = END + 7 * HOUR;
      const renewed = known(at, {
        lines: [older, aLine({ startsAt: START, endsAt: END, verifiedAt: at })],
        renewal: aRenewal({ periodEndsAt: START, signedAt: START - DAY }),
      });
      expect(nextRefresh(renewed, at, null, aPurchase({ lines: [older] }))?.at).toBe(at + 5 * SECOND);
    });
    test("also where it was to renew: the word is older than its end", () => {
      const at = END + 7 * HOUR;
      const told = aRenewal({ periodEndsAt: END, signedAt: END - MINUTE });
      expectNext(known(at, { renewal: told }), at, at + 5 * SECOND, "renewal");
    });
    test("whose refund does not end the subscription, at once too", () => {
      const at = END + 7 * HOUR;
      const refunded = aLine({ startsAt: START, endsAt: END, revokedAt: START + DAY, verifiedAt: at });
      expectNext(known(at, { lines: [refunded] }), at, at + 5 * SECOND, "renewal");
    });
    test.each<[what: string, signedAt: number, purchase: Partial<Purchase>, at: number]>([
      ["more than an hour before its end, an hour before it", END - HOUR - 1, {}, END - HOUR],
      [
        "before its end, with the store's word on its renewal, just after it",
        END - MINUTE,
        { renewal: aRenewal({ periodEndsAt: END, signedAt: END - MINUTE }) },
        END + 5 * SECOND,
      ],
      [
        "after its end, with the store's word since then, at the next step",
        END + 7 * HOUR,
        { renewal: aRenewal({ periodEndsAt: END, isInBillingRetry: true, signedAt: END + 7 * HOUR }) },
        END + DAY,
      ],
    ])("%s", (_, signedAt, purchase, at) => {
      expectNext(known(signedAt, purchase), signedAt, at);
    });
    test("and once only: signed anew, it is as it was", () => {
      const at = END + 7 * HOUR;
      expect(nextRefresh(known(at), at, null, known(END + HOUR))?.at).toBe(END + DAY);
      const older = aLine({ transactionIdentifier: "2", startsAt: START - 30 * DAY, endsAt: START });
      const both = known(END + HOUR, { lines: [older, ...known(END + HOUR).lines] });
      expect(nextRefresh(known(at), at, null, both)?.at).toBe(END + DAY);
      expect(nextRefresh(known(at), at + 5 * SECOND)?.at).toBe(END + DAY);
      expect(nextRefresh(known(at), at, at)?.at).toBe(END + DAY);
    });
    test("not where it ended more than 60 days ago", () => {
      expectNext(known(END + 60 * DAY), END + 60 * DAY, null);
    });
  });

  test("its end and not ahead of it where it lasts less than an hour", () => {
    const short = aPurchase({
      lines: [aLine({ startsAt: NOW, endsAt: NOW + 5 * MINUTE })],
      renewal: aRenewal({ periodEndsAt: NOW + 5 * MINUTE }),
    });
    expectNext(short, NOW, NOW + 5 * MINUTE + 5 * SECOND, "renewal");
  });
  test("the last of its periods' ends", () => {
    const next = aLine({ transactionIdentifier: "2", startsAt: END, endsAt: END + 30 * DAY });
    expectNext(aPurchase({ lines: [aLine(), next] }), NOW, END + 30 * DAY - HOUR, "renewal-ahead");
  });
  test.each<Case>([
    ["a month", NOW, START + 30 * DAY, "refund"],
    ["a month and a quarter", START + 30 * DAY, START + 121 * DAY, "refund"],
    ["the last quarter before its end", START + 303 * DAY, START + 365 * DAY - HOUR, "renewal-ahead"],
  ])("%s where it is yearly, for refunds", (_, ...expected) => {
    expectNext(aPurchase({ lines: [aLine({ endsAt: START + 365 * DAY })] }), ...expected);
  });

  describe("a grace period", () => {
    const grace = END + 6 * DAY + HOUR;
    const renewal = aRenewal({
      periodEndsAt: END,
      graceEndsAt: grace,
      isInBillingRetry: true,
      signedAt: END + MINUTE,
    });
    test.each<Case>([
      ["before its end, daily", END + 5 * DAY, END + 6 * DAY, "renewal"],
      ["at its end", grace, grace + 5 * SECOND, "grace-period-end"],
      ["2 minutes after it", grace + 2 * MINUTE, grace + 10 * MINUTE, "grace-period-end"],
      ["60 days after the period", END + 60 * DAY, null],
    ])("%s", (_, ...expected) => {
      expectNext(aPurchase({ renewal }), ...expected);
    });
  });

  test.each<Case>([
    ["a day in retry", END + DAY, END + 2 * DAY, "renewal"],
    ["59 days in retry", END + 59 * DAY, END + 60 * DAY, "renewal"],
    ["60 days in retry", END + 60 * DAY, null],
  ])("%s", (_, ...expected) => {
    const renewal = aRenewal({ isInBillingRetry: true, signedAt: END + HOUR });
    expectNext(aPurchase({ renewal }), ...expected);
  });

  describe("the store's word that it is over", () => {
    const over = aPurchase({ renewal: aRenewal({ willRenew: false, signedAt: END }) });
    test.each<Case>([
      ["sparsely: a day", END, END + DAY, "return"],
      ["a week", END + DAY, END + 7 * DAY, "return"],
      ["a month", END + 7 * DAY, END + 30 * DAY, "return"],
      ["60 days, the last time", END + 30 * DAY, END + 60 * DAY, "return"],
      ["never later than 60 days", END + 60 * DAY, null],
    ])("%s", (_, ...expected) => {
      expectNext(over, ...expected);
    });
    test.each<[what: string, renewal: Parameters<typeof aRenewal>[0]]>([
      ["was given before the end", { willRenew: false, signedAt: END - 1 }],
      ["is of a period in retry", { willRenew: false, isInBillingRetry: true, signedAt: END }],
      ["is that it renews", { willRenew: true, signedAt: END }],
    ])("closely where it %s", (_, renewal) => {
      expectNext(aPurchase({ renewal: aRenewal(renewal) }), END + HOUR, END + 6 * HOUR, "renewal");
    });
    test("closely where it is of an earlier period", () => {
      const next = aLine({ transactionIdentifier: "2", startsAt: END, endsAt: END + 30 * DAY });
      const renewal = aRenewal({ willRenew: false, signedAt: END - DAY });
      expectNext(aPurchase({ lines: [aLine(), next], renewal }), NOW, END + 30 * DAY - HOUR, "renewal-ahead");
    });
  });

  describe("an end after which the store only says that it will renew", () => {
    const undecided = (changes: Parameters<typeof aRenewal>[0] = {}) =>
      aPurchase({ renewal: aRenewal({ periodEndsAt: END, signedAt: END, ...changes }) });
    test("just before the usual leeway is over, and more often until an hour has passed", () => {
      const minutes = [14, 20, 30, 45, 60, 6 * 60];
      for (const [index, at] of minutes.entries())
        expectNext(undecided(), END + (minutes[index - 1] ?? 10) * MINUTE, END + at * MINUTE, "renewal");
    });
    test.each<[what: string, changes: Parameters<typeof aRenewal>[0]]>([
      ["said so before the end", { signedAt: END - 1 }],
      ["reports a failed payment", { isInBillingRetry: true }],
      ["says that it is over", { willRenew: false, isInBillingRetry: true }],
    ])("not where it %s", (_, changes) => {
      expectNext(undecided(changes), END + 10 * MINUTE, END + HOUR, "renewal");
    });
  });

  describe("an upgrade", () => {
    const upgraded = aLine({ transactionIdentifier: "1", standing: "expired", endsAt: END + 90 * DAY });
    test("by the period that took its place", () => {
      const next = aLine({ transactionIdentifier: "2", startsAt: NOW, endsAt: END });
      expectNext(aPurchase({ lines: [upgraded, next] }), NOW, END - HOUR, "renewal-ahead");
    });
    test("nothing that an upgraded period adds which began later than a longer one that runs", () => {
      const year = aLine({ startsAt: NOW - 100 * DAY, endsAt: NOW + 265 * DAY });
      const month = { productIdentifier: "plus", startsAt: NOW - DAY, endsAt: NOW + 29 * DAY };
      const cut = aLine({ transactionIdentifier: "2", standing: "expired", ...month });
      for (const asked of [null, NOW])
        expect(nextRefresh(aPurchase({ lines: [year, cut] }), NOW, asked)).toEqual(
          nextRefresh(aPurchase({ lines: [year] }), NOW, asked),
        );
    });
    test("the end of a shorter period that took its place, where it is not marked as upgraded", () => {
      const shorter = aLine({
        transactionIdentifier: "2",
        productIdentifier: "basic",
        startsAt: NOW - DAY,
        endsAt: NOW + DAY,
      });
      const longer = aLine({ startsAt: NOW - 10 * DAY, endsAt: NOW + 300 * DAY });
      expectNext(aPurchase({ lines: [longer, shorter] }), NOW + DAY, NOW + DAY + 5 * SECOND, "renewal");
    });
    test("at once where nothing is known of the period that took its place", () => {
      const { verifiedAt } = upgraded;
      expectNext(aPurchase({ lines: [upgraded] }), verifiedAt, verifiedAt + 5 * SECOND, "renewal");
    });
    test("at once where nothing is known of it beside an earlier period", () => {
      for (const days of [30, 365]) {
        const startsAt = NOW - 15 * DAY;
        const before = aLine({
          transactionIdentifier: "0",
          startsAt: startsAt - days * DAY,
          endsAt: startsAt,
        });
        const cut = aLine({ standing: "expired", startsAt, endsAt: startsAt + days * DAY, verifiedAt: NOW });
        const purchase = aPurchase({ lines: [before, cut] });
        expectNext(purchase, NOW, NOW + 5 * SECOND, "renewal");
      }
    });
    test("after an answer at the steps of the earlier period, and sparsely once that has been over for long", () => {
      const after = (startsAt: number) => {
        const before = aLine({
          transactionIdentifier: "0",
          startsAt: startsAt - 365 * DAY,
          endsAt: startsAt,
        });
        const cut = aLine({ standing: "expired", startsAt, endsAt: NOW + 200 * DAY, verifiedAt: NOW });
        return nextRefresh(aPurchase({ lines: [before, cut] }), NOW, NOW)?.at;
      };
      expect(after(NOW - 15.5 * DAY)).toBe(NOW + DAY / 2);
      expect(after(NOW - 100 * DAY)).toBe(NOW + 21 * DAY);
    });
    test("not for itself where an earlier period still runs, which the other product was bought beside", () => {
      const beside = aLine({ transactionIdentifier: "0", startsAt: NOW - 8 * DAY, endsAt: END });
      const cut = aLine({ standing: "expired", startsAt: NOW - DAY, endsAt: END, verifiedAt: NOW });
      expectNext(aPurchase({ lines: [beside, cut] }), NOW, END - HOUR, "renewal-ahead");
    });
    test("sparsely after an answer, which moves its end, also where it was refunded", () => {
      for (const refund of [{}, { revokedAt: NOW, revokedSince: NOW, refundedBy: NOW }]) {
        const lines = [aLine({ ...upgraded, ...refund, startsAt: NOW - 2 * DAY, verifiedAt: NOW })];
        const renewal = aRenewal({ periodEndsAt: null, signedAt: NOW });
        expect(nextRefresh(aPurchase({ lines, renewal }), NOW, NOW)?.at).toBeGreaterThanOrEqual(NOW + DAY);
      }
    });
  });

  test.each<Case>([
    ["a refund: a week", NOW + DAY, NOW + 7 * DAY, "refund"],
    ["a refund: an hour before its end", NOW + 7 * DAY, END - HOUR, "refund"],
    ["a refund: a month", END - HOUR, NOW + 30 * DAY, "refund"],
    ["a refund: 60 days, the last time", NOW + 30 * DAY, NOW + 60 * DAY, "refund"],
    ["a refund: not later than 60 days", NOW + 60 * DAY, null],
  ])("%s", (_, ...expected) => {
    const renewal = aRenewal({ willRenew: false, signedAt: NOW });
    expectNext(aPurchase({ lines: [aLine({ revokedAt: NOW })], renewal }), ...expected);
  });
});

test("a refund is looked at again for as long as its reversal would give access: quarterly, and before a period's end", () => {
  const refunded = { revokedAt: NOW, verifiedAt: NOW };
  const lifetime = aPurchase({ lines: [aLine({ ...refunded, nature: "non_consumable", endsAt: null })] });
  expectNext(lifetime, NOW + 30 * DAY, NOW + 60 * DAY, "refund");
  expectNext(lifetime, NOW + 60 * DAY, NOW + 121 * DAY, "refund");
  expectNext(lifetime, NOW + 121 * DAY, NOW + 212 * DAY, "refund");
  const pass = aPurchase({
    lines: [aLine({ ...refunded, nature: "non_renewing", startsAt: NOW - 200 * DAY, endsAt: null })],
  });
  expectNext(pass, NOW + 121 * DAY, NOW + 200 * DAY, "refund");
  expectNext(pass, NOW + 200 * DAY, null);
  const late = aPurchase({
    lines: [aLine({ ...refunded, nature: "non_renewing", startsAt: NOW - 390 * DAY, endsAt: null })],
  });
  expectNext(late, NOW + 30 * DAY, NOW + 60 * DAY, "refund");
  const endsAt = NOW + 200 * DAY;
  const renewal = aRenewal({ periodEndsAt: endsAt, willRenew: false, signedAt: NOW });
  const year = aPurchase({ lines: [aLine({ ...refunded, endsAt })], renewal });
  expectNext(year, NOW + 30 * DAY, NOW + 60 * DAY, "refund");
  expectNext(year, NOW + 60 * DAY, NOW + 121 * DAY, "refund");
  expectNext(year, NOW + 121 * DAY, endsAt - HOUR, "refund");
  expectNext(year, endsAt - HOUR, null);
  const month = aPurchase({ lines: [aLine({ ...refunded, endsAt: END })], renewal: null });
  expectNext(month, NOW + 7 * DAY, END - HOUR, "refund");
});
test("an iOS subscription whose period was refunded is refreshed after its end too, where it still renews", () => {
  const refunded = (willRenew: boolean) =>
    aPurchase({ lines: [aLine({ revokedAt: NOW })], renewal: aRenewal({ willRenew, signedAt: NOW }) });
  expectNext(refunded(true), END - HOUR, END + 5 * SECOND, "renewal");
  expectNext(refunded(true), END + 10 * MINUTE, END + HOUR, "renewal");
  expectNext(refunded(true), END + 60 * DAY, null);
  expectNext(refunded(false), END - HOUR, NOW + 30 * DAY, "refund");
});
test("and where nothing is known of its renewal, until an answer says nothing of it either", () => {
  const lines = [aLine({ revokedAt: NOW })];
  const before = aRenewal({ periodEndsAt: START, signedAt: START - DAY });
  for (const renewal of [null, before]) {
    const refunded = aPurchase({ lines, renewal });
    expectNext(refunded, END - HOUR, END + 5 * SECOND, "renewal");
    expect(nextRefresh(refunded, END - HOUR, END - HOUR)).toEqual({
      at: NOW + 30 * DAY,
      because: "refund",
    });
  }
});

describe("an iOS purchase without an end is refreshed after", () => {
  const QUARTERS: Case[] = [
    ["a day", START, START + DAY, "refund"],
    ["a week", START + DAY, START + 7 * DAY, "refund"],
    ["a month", START + 7 * DAY, START + 30 * DAY, "refund"],
    ["a quarter", START + 30 * DAY, START + 121 * DAY, "refund"],
    ["the next quarter", START + 121 * DAY, START + 212 * DAY, "refund"],
  ];
  test.each<Case>([
    ...QUARTERS,
    ["ten years of quarters", START + 3650 * DAY, START + (30 + 91 * 40) * DAY, "refund"],
  ])("%s, for its lifetime", (_, ...expected) => {
    expectNext(aPurchase({ lines: [aLine({ nature: "non_consumable", endsAt: null })] }), ...expected);
  });
  test.each<Case>([
    ...QUARTERS,
    ["the last quarter of 400 days", START + 303 * DAY, START + 394 * DAY, "refund"],
    ["400 days: never", START + 394 * DAY, null],
  ])("%s, as a pass", (_, ...expected) => {
    expectNext(aPurchase({ lines: [aLine({ nature: "non_renewing", endsAt: null })] }), ...expected);
  });
  test("never, as a consumable", () => {
    expectNext(aPurchase({ lines: [aLine({ nature: "consumable", endsAt: null })] }), START, null);
  });
});

describe("a purchase whose refund a later copy lacks is read", () => {
  const withdrawn = (line: Partial<Line>) =>
    aPurchase({
      lines: [
        aLine({
          startsAt: NOW - 35 * DAY,
          revokedSince: NOW,
          refundedBy: NOW,
          verifiedAt: NOW + 2000,
          ...line,
        }),
      ],
    });
  test.each<[what: string, line: Partial<Line>]>([
    ["a lifetime purchase", { nature: "non_consumable", endsAt: null }],
    ["a period", { endsAt: NOW + 330 * DAY }],
  ])("closely for a day, then as ever: %s", (_, line) => {
    const purchase = withdrawn(line);
    expectNext(purchase, NOW + 2000, NOW + 5 * SECOND, "refund");
    expectNext(purchase, NOW + 5 * SECOND, NOW + 2 * MINUTE, "refund");
    expectNext(purchase, NOW + 6 * HOUR, NOW + DAY, "refund");
    expect(nextRefresh(purchase, NOW + DAY)?.at).toBeGreaterThan(NOW + 5 * DAY);
  });
  test("as ever where it is still refunded, all of it or a part", () => {
    const line = { nature: "non_consumable", endsAt: null } as const;
    for (const refunded of [{ revokedAt: NOW }, { quantity: 3, refundedQuantity: 1 }])
      expect(nextRefresh(withdrawn({ ...line, ...refunded }), NOW + 2000)?.at).toBeGreaterThan(NOW + HOUR);
  });
});

describe("transaction ids that disagree on a refund are read", () => {
  /** A refund that one id carries and another, signed at the given times, does not. */
  const disputed = (refundSignedAt: number, otherSignedAt: number): Purchase => {
    const copy = { event: "e", nature: "non_consumable", endsAt: null } as const;
    return aPurchase({
      lines: [
        aLine({ ...copy, transactionIdentifier: "1", revokedAt: NOW - 6 * DAY, verifiedAt: refundSignedAt }),
        aLine({ ...copy, transactionIdentifier: "2", verifiedAt: otherSignedAt }),
      ],
    });
  };
  test.each<[what: string, refundSignedAt: number, at: number, because: RefreshReason]>([
    ["at once", NOW - 5 * DAY, NOW + 5 * SECOND, "disagreement"],
    ["at most daily", NOW - HOUR, NOW + 23 * HOUR, "disagreement"],
    ["not again where they were read together", NOW - 10 * MINUTE, NOW + DAY, "refund"],
  ])("%s", (_, refundSignedAt, at, because) => {
    expectNext(disputed(refundSignedAt, NOW), NOW, at, because);
  });
  test("less and less where the store does not settle it", () => {
    const purchase = disputed(NOW - 5 * DAY, NOW);
    expectNext(purchase, NOW + 5 * SECOND, NOW + 10 * SECOND, "disagreement");
    expectNext(purchase, NOW + 10 * SECOND, NOW + 5 * SECOND + 2 * MINUTE, "disagreement");
  });
});

describe("an Android purchase is refreshed after", () => {
  const android = (lines: readonly Partial<Line>[], purchase: Partial<Purchase> = {}): Purchase => ({
    ...aPurchase({
      store: "android-store",
      verifiedAt: NOW,
      lines: lines.map((line) => aLine({ transactionIdentifier: null, event: null, ...line })),
    }),
    ...purchase,
  });
  test.each<Case>([
    ["its purchase", NOW, END + 5 * SECOND, "renewal"],
    ...stepsAfter(END, "renewal"),
    ["a year of no other word", END + 365 * DAY, END + 366 * DAY, "renewal"],
  ])("%s", (_, ...expected) => {
    expectNext(android([{}]), ...expected);
  });
  test.each<[standing: Line["standing"], because: RefreshReason]>([
    ["grace_period", "grace-period-end"],
    ["paused", "renewal"],
    ["billing_retry", "renewal"],
  ])("its end, in the standing %s, daily", (standing, because) => {
    expectNext(android([{ standing }]), END + DAY, END + 2 * DAY, because);
  });
  test.each<Case>([
    ["a purchase that does not renew, an hour before its end", NOW, END - HOUR, "restart"],
    ["that hour", END - HOUR, END + 5 * SECOND, "renewal"],
  ])("%s: its cancellation may be taken back without a word", (_, ...expected) => {
    expectNext(android([{ willRenew: false }]), ...expected);
  });
  test.each<Line["standing"]>(["paused", "billing_retry"])(
    "a day, where it is %s, and the store names an end that is yet to come",
    (standing) => {
      const stopped = android([{ standing }]);
      expectNext(stopped, NOW, NOW + DAY, "renewal");
      expectNext(stopped, END - HOUR, END + 5 * SECOND, "renewal");
    },
  );
  test("a day, where it is in its grace period, and its end, which includes that", () => {
    const inGrace = android([{ standing: "grace_period" }]);
    expectNext(inGrace, NOW, NOW + DAY, "grace-period-end");
    expectNext(inGrace, END - HOUR, END + 5 * SECOND, "grace-period-end");
  });
  test("a day, where it is expired before its end, as if Google had said so a minute before it renews", () => {
    const expired = android([{ standing: "expired" }]);
    expectNext(expired, NOW, NOW + DAY, "return");
    expectNext(expired, END - HOUR, END + 2 * MINUTE, "return");
    expectNext(expired, END - DAY, END, "return");
  });
  test("like what is over, where it is a prepaid plan, which Google calls active or cancelled after its end", () => {
    const prepaid = (verifiedAt: number) => android([{ willRenew: false, verifiedAt }], { verifiedAt });
    expectNext(prepaid(END - 1), END - 1, END + 5 * SECOND, "renewal");
    const over = prepaid(END + 5 * SECOND);
    expectNext(over, END + 5 * SECOND, END + 2 * MINUTE, "return");
    expectNext(over, END + HOUR, END + DAY, "return");
    expectNext(over, END + 30 * DAY, END + 121 * DAY, "return");
    const silent = android([{ willRenew: true, verifiedAt: END + HOUR }]);
    expectNext(silent, END + HOUR, END + 6 * HOUR, "renewal");
  });
  test("6 hours, while its payment is pending", () => {
    expectNext(android([]), NOW, NOW + 6 * HOUR, "payment");
    expectNext(android([]), NOW + 6 * HOUR, NOW + 12 * HOUR, "payment");
  });
  test("the next end of its lines", () => {
    expectNext(android([{}, { endsAt: END + 5 * DAY }]), NOW, END + 5 * SECOND, "renewal");
    expectNext(
      android([{ standing: "expired" }, { endsAt: END + 5 * DAY }]),
      NOW,
      END + 5 * DAY + 5 * SECOND,
      "renewal",
    );
  });
  test.each<Case>([
    [
      "2 minutes, as Google has said so and renewed a minute later",
      END + 5 * SECOND,
      END + 2 * MINUTE,
      "return",
    ],
    ["an hour", END + 2 * MINUTE, END + HOUR, "return"],
    ["a day", END + HOUR, END + DAY, "return"],
    ["a month", END + 7 * DAY, END + 30 * DAY, "return"],
    ["a quarter, until the store drops it", END + 30 * DAY, END + 121 * DAY, "return"],
  ])("%s, where it is expired", (_, ...expected) => {
    expectNext(android([{ standing: "expired" }]), ...expected);
  });
  test("nothing, where another has replaced it", () => {
    expectNext(android([{}], { replacedBy: purchaseKey("2") }), NOW, null);
  });
  test("6 hours, where another has replaced it, and nothing says what it was", () => {
    expectNext(android([], { replacedBy: purchaseKey("2") }), NOW, NOW + 6 * HOUR, "payment");
  });
  test("nothing, where it is a one-time purchase", () => {
    expectNext(android([{ nature: "consumable", endsAt: null }]), NOW, null);
  });
  test("nothing, where its end is the last moment of all time", () => {
    expectNext(android([{ endsAt: Date.UTC(9999, 11, 31, 23, 59, 59, 999) }]), NOW, null);
  });
});

test("purchases made in Xcode are never refreshed", () => {
  expectNext(aPurchase({ environment: "xcode" }), NOW, null);
});

describe("a refresh that was asked for", () => {
  test.each<[after: number, at: number | null]>([
    [-MINUTE, NOW + 10 * MINUTE],
    [0, NOW + 10 * MINUTE],
    [10 * MINUTE - 1, NOW + 10 * MINUTE],
    [10 * MINUTE, NOW + 6 * HOUR],
    [6 * HOUR, NOW + DAY],
    [DAY - 1, NOW + DAY],
    [DAY, null],
  ])("is made again %i milliseconds later, without an answer, at %s", (after, at) => {
    expect(askedForAgain(NOW, NOW + after)).toBe(at);
  });
  test("is asked for until it has been for a day", () => {
    expect(isStillAskedFor(NOW, NOW - DAY)).toBe(true);
    expect(isStillAskedFor(NOW, NOW + DAY - 1)).toBe(true);
    expect(isStillAskedFor(NOW, NOW + DAY)).toBe(false);
    expect(isStillAskedFor(null, NOW)).toBe(false);
  });
});

test("a refresh is asked for until a day after it was", () => {
  expect(isStillAskedFor(null, 0)).toBe(false);
  expect(isStillAskedFor(NOW, NOW + DAY - 1)).toBe(true);
  expect(isStillAskedFor(NOW, NOW + DAY)).toBe(false);
});
