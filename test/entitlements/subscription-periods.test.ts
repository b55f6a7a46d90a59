import { DAY } from "../../lib/duration.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { isSameEnd, periodsOf, unseenEnd, type Period } from "../../lib/entitlements/subscription-periods.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal } from "../../testing/support/purchases.ts";
import {
  A_MILLISECOND,
  AN_HOUR,
  aPeriod,
  at,
  givenBack,
  marked,
  MINUTE,
  refunded,
  signed,
} from "./history.ts";

/** A lineage with another key than its transactions, so that none of them is its first. */
const lineage = (lines: readonly Line[], more: Partial<Purchase> = {}): Purchase =>
  aPurchase({ lines, ...more, key: "lineage" });

const periods = (lines: readonly Line[], more: Partial<Purchase> = {}): readonly Period[] => {
  const found = periodsOf(lineage(lines, more));
  expect(periodsOf(lineage(lines.toReversed(), more))).toEqual(found);
  return found;
};

/** A period: its transaction id, start of access and end, in days. */
type Run = readonly [id: string, from: number, to: number];

/** Each period with its start of access and its end, which is where it is cut. */
const spans = (lines: readonly Line[], more: Partial<Purchase> = {}) =>
  periods(lines, more).map(({ line, from, endsAt, cutAt }) => [
    line.transactionIdentifier,
    from,
    Math.min(endsAt, cutAt),
  ]);
const runs = (expected: readonly Run[]) => expected.map(([id, from, to]) => [id, at(from), at(to)]);

type Row = [rule: string, lines: readonly Line[], expected: readonly Run[]];

const monthly = aPeriod("1", "basic", -30, 0);

describe("a subscription has one period at a time:", () => {
  test.each<Row>([
    ["none without a line", [], []],
    [
      "a renewal begins where the one before ends",
      [monthly, aPeriod("2", "basic", 0, 30)],
      [
        ["1", -30, 0],
        ["2", 0, 30],
      ],
    ],
    [
      "another product ends a period at its own start",
      [monthly, aPeriod("2", "plus", -10, 355)],
      [
        ["1", -30, -10],
        ["2", -10, 355],
      ],
    ],
    [
      "so does one that begins an hour before its end",
      [monthly, aPeriod("2", "plus", -AN_HOUR, 355)],
      [
        ["1", -30, -AN_HOUR],
        ["2", -AN_HOUR, 355],
      ],
    ],
    [
      "so does its own product, bought anew",
      [monthly, aPeriod("2", "basic", -10, 20)],
      [
        ["1", -30, -10],
        ["2", -10, 20],
      ],
    ],
    [
      "one that was refunded after its start ends what ran before",
      [monthly, aPeriod("2", "plus", -10, 355, refunded(-9))],
      [
        ["1", -30, -10],
        ["2", -10, 355],
      ],
    ],
    [
      "of two that begin together the marked one ends",
      [aPeriod("1", "basic", -10, 20), aPeriod("2", "plus", -10, 20, marked(-9))],
      [
        ["2", -10, -10],
        ["1", -10, 20],
      ],
    ],
    ["a mark alone ends a period at its signing", [{ ...monthly, ...marked(-10) }], [["1", -30, -10]]],
    [
      "a marked period ends where the next begins, whenever signed",
      [{ ...monthly, ...marked(-5) }, aPeriod("2", "plus", -10, 355)],
      [
        ["1", -30, -10],
        ["2", -10, 355],
      ],
    ],
    [
      "a marked period ends at its signing before the next begins",
      [{ ...monthly, ...marked(-15) }, aPeriod("2", "plus", -10, 355)],
      [
        ["1", -30, -15],
        ["2", -10, 355],
      ],
    ],
    ["one that was restored after its end began by then", [aPeriod("1", "basic", 10, 0)], [["1", 0, 0]]],
    [
      "one without an end has none",
      [aPeriod("1", "basic", -30, 0, { endsAt: null })],
      [["1", -30, Infinity]],
    ],
    ["what is no subscription has no period", [aLine({ nature: "non_renewing" })], []],
  ])("%s", (_, lines, expected) => {
    expect(spans(lines)).toEqual(runs(expected));
  });

  test.each<[rule: string, copies: readonly Line[], expected: readonly Run[]]>([
    [
      "after its end lies before the one that runs",
      [aPeriod("2", "plus", 10, -5)],
      [
        ["2", -10, -10],
        ["1", -10, 20],
      ],
    ],
    [
      "at its end too",
      [aPeriod("2", "plus", -5, -5)],
      [
        ["2", -10, -10],
        ["1", -10, 20],
      ],
    ],
    [
      "after its end, but not within it, lies where it ended",
      [aPeriod("2", "plus", 30, 20)],
      [
        ["1", -10, 20],
        ["2", 20, 20],
      ],
    ],
    [
      "after its end, with its start, stays there",
      [aPeriod("2", "plus", 10, -10)],
      [
        ["2", -10, -10],
        ["1", -10, 20],
      ],
    ],
    [
      "with the mark of an upgrade lies before it",
      [aPeriod("2", "plus", 0, 15, marked(1))],
      [
        ["2", -10, -10],
        ["1", -10, 20],
      ],
    ],
    [
      "without the mark ends it",
      [aPeriod("2", "plus", 0, 15)],
      [
        ["1", -10, 0],
        ["2", 0, 15],
      ],
    ],
    [
      "with the mark, but a later end, ends it",
      [aPeriod("2", "plus", 0, 20, marked(1))],
      [
        ["1", -10, 0],
        ["2", 0, 1],
      ],
    ],
    [
      "with the mark, before what began since, ends it",
      [aPeriod("2", "plus", 0, 15, marked(5)), aPeriod("3", "max", 5, 40)],
      [
        ["1", -10, 0],
        ["2", 0, 5],
        ["3", 5, 40],
      ],
    ],
    [
      "with the mark, beside what began with it, ends it",
      [aPeriod("2", "plus", 0, 15, marked(5)), aPeriod("3", "max", 0, 40)],
      [
        ["1", -10, 0],
        ["2", 0, 0],
        ["3", 0, 40],
      ],
    ],
  ])("a copy of another product, restored %s", (_, copies, expected) => {
    expect(spans([aPeriod("1", "basic", -10, 20), ...copies])).toEqual(runs(expected));
  });

  test.each([
    ["began strictly before it", -A_MILLISECOND, 0],
    ["did not begin with it", 0, 30],
    ["did not begin since", 1, 30],
  ])("another lineage ends what %s", (_, from, to) => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: at(0) };
    expect(spans([aPeriod("1", "basic", from, 30)], replaced)).toEqual(runs([["1", from, to]]));
  });
});

describe("a period never ran", () => {
  test.each([
    ["that was refunded at its start", 0, []],
    ["unless it was refunded a millisecond later", A_MILLISECOND, [["2", 0, 30]] as const],
  ])("%s", (_, refundedOn, expected) => {
    const charged = aPeriod("2", "basic", 0, 30, refunded(refundedOn));
    expect(spans([monthly, charged])).toEqual(runs([["1", -30, 0], ...expected]));
  });
});

describe("a period charged ahead and overtaken by an upgrade never ran:", () => {
  /** The renewal is charged 20 hours before its start; the upgrade follows eight hours later. */
  const CHARGED = -20 * AN_HOUR;
  const UPGRADED = -12 * AN_HOUR;
  const charged = (more: Partial<Line> = {}) => aPeriod("2", "basic", 0, 30, { ...signed(CHARGED), ...more });
  const upgrade = (more: Partial<Line> = {}) => aPeriod("3", "plus", UPGRADED, 353, more);
  const named = (more: Partial<Renewal> = {}) =>
    aRenewal({ periodEndsAt: at(353), signedAt: at(UPGRADED), ...more });

  const OVERTAKEN: readonly Run[] = [["3", UPGRADED, 353]];
  const PLACED_BEFORE: readonly Run[] = [["2", UPGRADED, UPGRADED], ...OVERTAKEN];
  const BOTH: readonly Run[] = [
    ["3", UPGRADED, 0],
    ["2", 0, 30],
  ];

  test.each<[rule: string, lines: readonly Line[], renewal: Renewal | null, expected: readonly Run[]]>([
    ["by its mark", [charged(marked(UPGRADED)), upgrade()], null, PLACED_BEFORE],
    ["by its mark, signed after its start", [charged(marked(0.1)), upgrade()], null, PLACED_BEFORE],
    ["by a renewal info that names the upgrade", [charged(), upgrade()], named(), OVERTAKEN],
    ["which was signed at the charge", [charged(), upgrade()], named({ signedAt: at(CHARGED) }), OVERTAKEN],
    ["but not before", [charged(), upgrade()], named({ signedAt: at(CHARGED) - 1 }), BOTH],
    [
      "which was signed at its start, if it was signed later",
      [charged(signed(5)), upgrade()],
      named({ signedAt: at(0) }),
      OVERTAKEN,
    ],
    ["but not before its start", [charged(signed(5)), upgrade()], named({ signedAt: at(0) - 1 }), BOTH],
    [
      "which names the end within a minute",
      [charged(), upgrade()],
      named({ periodEndsAt: at(353) + MINUTE }),
      OVERTAKEN,
    ],
    ["but not later", [charged(), upgrade()], named({ periodEndsAt: at(353) + MINUTE + 1 }), BOTH],
    ["not by one that names no end", [charged(), upgrade()], named({ periodEndsAt: null }), BOTH],
    ["not by one that names it", [charged(), upgrade()], named({ periodEndsAt: at(30) }), BOTH],
    [
      "not by one that names its own end within the same minute",
      [charged({ endsAt: at(353) + MINUTE }), upgrade()],
      named(),
      [
        ["3", UPGRADED, 0],
        ["2", 0, 353 + MINUTE / DAY],
      ],
    ],
    ["not by an upgrade that is marked itself", [charged(), upgrade(marked(30))], named(), BOTH],
    [
      "by an upgrade within the period that ended at its start",
      [monthly, charged(), upgrade()],
      null,
      [["1", -30, UPGRADED], ...OVERTAKEN],
    ],
    [
      "also where that one is marked",
      [{ ...monthly, ...marked(UPGRADED) }, charged(), upgrade()],
      null,
      [["1", -30, UPGRADED], ...OVERTAKEN],
    ],
    [
      "not where that one began with the upgrade",
      [aPeriod("1", "basic", UPGRADED, 0), charged(), upgrade()],
      null,
      [["1", UPGRADED, UPGRADED], ...BOTH],
    ],
    [
      "not where that one ended before",
      [aPeriod("1", "basic", -30, -A_MILLISECOND), charged(), upgrade()],
      null,
      [["1", -30, UPGRADED], ...BOTH],
    ],
    ["not without any of the three", [charged(), upgrade()], null, BOTH],
    [
      "also where it is a change of product",
      [aPeriod("1", "plus", -30, 0), charged(), upgrade()],
      null,
      [["1", -30, UPGRADED], ...OVERTAKEN],
    ],
    [
      "whether it is refunded since or not",
      [charged(refunded(0.1)), upgrade()],
      named({ signedAt: at(0.1) }),
      OVERTAKEN,
    ],
  ])("%s", (_, lines, renewal, expected) => {
    expect(spans(lines, { renewal })).toEqual(runs(expected));
  });

  test.each<[rule: string, other: Line, isOvertaken: boolean]>([
    ["48 hours before its start", aPeriod("3", "plus", -2, 353), true],
    ["not earlier", aPeriod("3", "plus", -2 - A_MILLISECOND, 353), false],
    ["a millisecond before its start", aPeriod("3", "plus", -A_MILLISECOND, 353), true],
    ["not with it", aPeriod("3", "plus", 0, 7), false],
    ["not by its own product", aPeriod("3", "basic", UPGRADED, 353), false],
    ["not by one that ended at its start", aPeriod("3", "plus", UPGRADED, 0), false],
    ["by one that ended a millisecond later", aPeriod("3", "plus", UPGRADED, A_MILLISECOND), true],
    ["not by one that was refunded at its start", upgrade(refunded(0)), false],
    ["by one that was refunded a millisecond later", upgrade(refunded(A_MILLISECOND)), true],
  ])("an upgrade is bought %s", (_, other, isOvertaken) => {
    const ids = spans([monthly, charged(), other]).map(([id]) => id);
    expect(ids.includes("2")).toBe(!isOvertaken);
  });

  test("what was overtaken overtakes nothing itself", () => {
    // Periods of a day, as TestFlight has them: the upgrade's renewal follows a day after the upgrade.
    const day = aPeriod("1", "basic", -1, 0);
    const lines = [
      day,
      charged({ endsAt: at(1) }),
      upgrade({ endsAt: at(0.5) }),
      aPeriod("4", "plus", 0.5, 1.5),
    ];
    expect(spans(lines)).toEqual(
      runs([
        ["1", -1, UPGRADED],
        ["3", UPGRADED, 0.5],
        ["4", 0.5, 1.5],
      ]),
    );
  });
});

describe("a period whose refund was taken back", () => {
  const year = (more: Partial<Line> = {}) =>
    aPeriod("1", "basic", -100, 265, { ...givenBack(-50, -40), ...more });
  const endWith = (from: number, line = year()) =>
    spans([line, aPeriod("2", "plus", from, from + 30)]).find(([id]) => id === "1")?.[2];

  test.each<[rule: string, from: number, end: number]>([
    ["is ended by what was bought before the refund", -50 - A_MILLISECOND, -50 - A_MILLISECOND],
    ["is not ended by what was bought at the refund", -50, 265],
    ["is not ended by what was bought as it was given back", -40, 265],
    ["is ended by what was bought since", -40 + A_MILLISECOND, -40 + A_MILLISECOND],
  ])("%s", (_, from, end) => {
    expect(endWith(from)).toBe(at(end));
  });
  test("is ended by what was bought meanwhile, while it is refunded", () => {
    expect(endWith(-45, year(refunded(-50, -40)))).toBe(at(-45));
  });
  test("is ended by what begins next once that is over", () => {
    const lines = [year(), aPeriod("2", "plus", -45, -15), aPeriod("3", "plus", -10, 20)];
    expect(spans(lines)[0]).toEqual(["1", at(-100), at(-10)]);
  });
});

describe("the store is silent on a period's early end", () => {
  const isInferred = (line: Line, from: number) =>
    periods([line, aPeriod("2", "plus", from, 355)]).map(({ isCutInferred }) => isCutInferred);
  test.each<[rule: string, isSilent: boolean, line: Line, from?: number]>([
    ["which only the next period tells", true, monthly],
    ["which it has not signed since", true, { ...monthly, ...signed(-10 - A_MILLISECOND) }],
    ["unless it has", false, { ...monthly, ...signed(-10) }],
    ["unless it marked the period", false, { ...monthly, ...marked(-11) }],
    ["unless it refunded the period", false, { ...monthly, ...refunded(-20) }],
    ["unless that is the store's own end", false, monthly, 0],
  ])("%s", (_, isSilent, line, from = -10) => {
    expect(isInferred(line, from)).toEqual([isSilent, false]);
  });
});

describe("a period's renewal is known", () => {
  test.each<[rule: string, isKnown: boolean, next: Line]>([
    ["that begins at its end", true, aPeriod("2", "basic", 0, 30)],
    ["also of another product", true, aPeriod("2", "plus", 0, 30)],
    ["not one that begins earlier", false, aPeriod("2", "basic", -A_MILLISECOND, 30)],
    ["not one that begins later", false, aPeriod("2", "basic", A_MILLISECOND, 30)],
    ["not a refunded one", false, aPeriod("2", "basic", 0, 30, refunded(1))],
    ["not one that was upgraded", false, aPeriod("2", "basic", 0, 30, marked(1))],
  ])("%s", (_, isKnown, next) => {
    expect(periods([monthly, next]).map(({ isRenewed }) => isRenewed)).toEqual([isKnown, false]);
  });
});

describe("a renewal that was charged ahead, of which nothing before is known,", () => {
  const CHARGED = -20 * AN_HOUR;
  const charged = (more: Partial<Line> = {}) => aPeriod("2", "basic", 0, 30, { ...signed(CHARGED), ...more });
  const startOf = (lines: readonly Line[], more: Partial<Purchase> = {}) =>
    spans(lines, more).find(([id]) => id === "2")?.[1];

  test.each<[rule: string, from: number, lines: readonly Line[]]>([
    ["counts from its signing", CHARGED, [charged()]],
    ["up to 48 hours ahead", -2, [charged(signed(-2))]],
    ["not earlier", 0, [charged(signed(-2 - A_MILLISECOND))]],
    ["not where it was signed at its start", 0, [charged(signed(0))]],
    ["not where it is marked", 0, [charged(marked(CHARGED))]],
    [
      "although a period is known that ended long before",
      CHARGED,
      [aPeriod("1", "basic", -90, -60), charged()],
    ],
    [
      "although one ended more than a minute before",
      CHARGED,
      [aPeriod("1", "basic", -30, 0, { endsAt: at(0) - MINUTE - 1 }), charged()],
    ],
    [
      "not where one ended within a minute",
      0,
      [aPeriod("1", "basic", -30, 0, { endsAt: at(0) - MINUTE }), charged()],
    ],
    ["not where the period before is refunded", 0, [{ ...monthly, ...refunded(-6) }, charged()]],
    ["although another begins with it", CHARGED, [charged(), aPeriod("3", "plus", 0, 30)]],
  ])("%s", (_, from, lines) => {
    expect(startOf(lines)).toBe(at(from));
  });

  test("not where it is the first transaction of its lineage", () => {
    expect(periodsOf(aPurchase({ key: "2", lines: [charged()] })).map(({ from }) => from)).toEqual([at(0)]);
  });
  test("not in Xcode, where ids tell nothing", () => {
    expect(startOf([charged()], { environment: "xcode" })).toBe(at(0));
  });
});

describe("a renewal info is about", () => {
  const first = aPeriod("1", "basic", 0, 30);
  const second = aPeriod("2", "basic", 30, 60);
  const year = aPeriod("3", "plus", 10, 375);
  const failing = { isInBillingRetry: true };

  /** The period to which the renewal info belongs; undefined: none. */
  const statedOf = (
    lines: readonly Line[],
    date: number | null,
    signedOn: number,
    more: Partial<Renewal> = {},
  ) =>
    periods(lines, {
      renewal: aRenewal({ periodEndsAt: date === null ? null : at(date), signedAt: at(signedOn), ...more }),
    }).find(({ renewal }) => renewal !== null)?.line.transactionIdentifier;

  test.each<
    [rule: string, lines: readonly Line[], date: number | null, signedOn: number, id: string | undefined]
  >([
    ["the period whose end it names, whenever it was signed", [first, second], 60, 0, "2"],
    ["the end within a minute", [first, second], 60 + MINUTE * A_MILLISECOND, 0, "2"],
    ["not a later end", [first, second], 60 + (MINUTE + 1) * A_MILLISECOND, 0, undefined],
    ["none that another followed", [first, second], 30, 0, undefined],
    ["otherwise the last that had begun", [first, second], null, 30, "2"],
    ["not one that had not begun", [first, second], null, 30 - A_MILLISECOND, undefined],
    ["the one known, whose end it does not name", [first], 31, 10, "1"],
    ["none where no period had begun", [second], null, 29, undefined],
    ["not a marked one with that end", [{ ...first, ...marked(5) }], 30, -1, undefined],
    ["none that a mark ended", [{ ...first, ...marked(5) }], null, 10, undefined],
    ["the last period at its own end, marked there", [{ ...first, ...marked(30) }], null, 10, "1"],
  ])("%s", (_, lines, date, signedOn, id) => {
    expect(statedOf(lines, date, signedOn)).toBe(id);
  });

  test.each<[rule: string, lines: readonly Line[], signedOn: number, id: string | undefined]>([
    ["the last that had ended by then", [first, second], 61, "2"],
    ["or ends two days later", [first, second], 58, "2"],
    ["not one that runs longer: the one before, which was followed", [first, second], 57.9, undefined],
    ["the last begun, where none had ended", [first], 10, "1"],
    ["not what an upgrade cut", [aPeriod("0", "basic", -10, 5), { ...year, startsAt: at(0) }], 20, undefined],
  ])("a failed payment: %s", (_, lines, signedOn, id) => {
    expect(statedOf(lines, null, signedOn, failing)).toBe(id);
  });

  test("not what another lineage ended", () => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: at(10) };
    const renewal = aRenewal({ periodEndsAt: at(30), signedAt: at(5) });
    expect(periods([first], { ...replaced, renewal }).map((one) => one.renewal)).toEqual([null]);
  });
});

describe("an end that only the renewal info names", () => {
  const unseen = (periodEndsAt: number | null, lines: readonly Line[], more: Partial<Renewal> = {}) => {
    const purchase = lineage(lines, {
      renewal: aRenewal({
        periodEndsAt: periodEndsAt === null ? null : at(periodEndsAt),
        signedAt: at(0),
        ...more,
      }),
    });
    return unseenEnd(purchase, periodsOf(purchase)) === at(periodEndsAt ?? 0);
  };
  const year = aPeriod("2", "plus", -20, 345);
  const A_MINUTE = MINUTE * A_MILLISECOND;

  test.each<
    [rule: string, isUnseen: boolean, named: number | null, lines: readonly Line[], more?: Partial<Renewal>]
  >([
    ["is later than any other", true, 30, [monthly]],
    ["is none where no end is named", false, null, [monthly]],
    ["is none of a known period, to the minute", false, A_MINUTE, [monthly]],
    ["is one more than a minute later", true, A_MINUTE + A_MILLISECOND, [monthly]],
    ["is none before that of a known period", false, 30, [monthly, year]],
    ["is one beside what was cut", true, 30, [{ ...year, ...marked(-5) }]],
    ["is one beside what was refunded", true, 30, [{ ...year, ...refunded(-5) }]],
    ["is none of a refunded period", false, 345, [monthly, { ...year, ...refunded(-5) }]],
    ["is none while a payment fails", false, 30, [monthly], { isInBillingRetry: true }],
    ["is none in a grace period after it", false, 30, [monthly], { graceEndsAt: at(31) }],
    ["is one beside what is no subscription", true, 20, [aLine({ nature: "non_renewing", endsAt: at(20) })]],
    ["is none beside a period without an end", false, 30, [{ ...monthly, endsAt: null }]],
  ])("%s", (_, isUnseen, named, lines, more = {}) => {
    expect(unseen(named, lines, more)).toBe(isUnseen);
  });

  test("is none without a renewal info", () => {
    expect(unseenEnd(lineage([monthly]), periodsOf(lineage([monthly])))).toBeNull();
  });
});

test("two ends are the same within a minute", () => {
  expect([0, MINUTE, -MINUTE].map((apart) => isSameEnd(at(0), at(0) + apart))).toEqual([true, true, true]);
  expect([MINUTE + 1, -MINUTE - 1].map((apart) => isSameEnd(at(0), at(0) + apart))).toEqual([false, false]);
});
