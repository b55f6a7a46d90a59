import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import { periodsOf } from "../../../lib/entitlements/subscription-periods.ts";
import type { Renewal } from "../../../lib/entitlements/renewal.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal } from "../../../testing/support/stores/purchases.ts";
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
} from "../history.ts";
import { basic, first, monthly, periods, type Days } from "./periods.ts";

/** Each period with its start of access and its end, which is where it is cut. */
const spans = (lines: readonly Line[], more: Partial<Purchase> = {}) =>
  periods(lines, more).map(({ line, from, endsAt, cutAt }) => [
    line.transactionIdentifier,
    from,
    Math.min(endsAt, cutAt),
  ]);
/** Periods by transaction id, start of access and end, as `1: -30 to -1h`: days, or hours. */
const runs = (expected: string) =>
  [...expected.matchAll(/(\w+): (\S+?)(h?) to ([^\s,]+?)(h?)(?:, |$)/g)].map(([, id, from, a, to, b]) => [
    id,
    at(Number(from) / (a === "h" ? 24 : 1)),
    at(Number(to) / (b === "h" ? 24 : 1)),
  ]);

type Row = [rule: string, lines: readonly Line[], expected: string];

const plus = (...days: Days): Line => aPeriod("2", "plus", ...days);
const CHANGED = "1: -30 to -10, 2: -10 to 355";
describe("a subscription has one period at a time:", () => {
  test.each<Row>([
    ["none without a line", [], ""],
    ["a renewal begins where the one before ends", [monthly, basic(0, 30)], "1: -30 to 0, 2: 0 to 30"],
    ["another product ends a period at its start", [monthly, plus(-10, 355)], CHANGED],
    ["so does one that was refunded since", [monthly, plus(-10, 355, refunded(-9))], CHANGED],
    [
      "of two that begin together the marked one ends",
      [first(-10, 20), plus(-10, 20, marked(-9))],
      "2: -10 to -10, 1: -10 to 20",
    ],
    ["a mark alone ends a period at its signing", [{ ...monthly, ...marked(-10) }], "1: -30 to -10"],
    ["a marked period ends where the next begins", [{ ...monthly, ...marked(-5) }, plus(-10, 355)], CHANGED],
    [
      "a marked period ends at its signing before that",
      [{ ...monthly, ...marked(-15) }, plus(-10, 355)],
      "1: -30 to -15, 2: -10 to 355",
    ],
    ["one that was restored after its end began by then", [first(10, 0)], "1: 0 to 0"],
    ["one without an end has none", [first(-30, 0, { endsAt: null })], "1: -30 to Infinity"],
    ["what is no subscription has no period", [aLine({ nature: "non_renewing" })], ""],
  ])("%s", (_, lines, expected) => {
    expect(spans(lines)).toEqual(runs(expected));
  });

  test.each<[rule: string, copies: readonly Line[], expected: string]>([
    ["after its end lies before the one that runs", [plus(10, -5)], "2: -10 to -10, 1: -10 to 20"],
    ["after its end, but not within it, lies where it ended", [plus(30, 20)], "1: -10 to 20, 2: 20 to 20"],
    ["with the mark of an upgrade lies before it", [plus(0, 15, marked(1))], "2: -10 to -10, 1: -10 to 20"],
    ["without the mark ends it", [plus(0, 15)], "1: -10 to 0, 2: 0 to 15"],
    ["with the mark, but a later end, ends it", [plus(0, 20, marked(1))], "1: -10 to 0, 2: 0 to 1"],
  ])("a copy of another product, restored %s", (_, copies, expected) => {
    expect(spans([first(-10, 20), ...copies])).toEqual(runs(expected));
  });

  test.each<[rule: string, one: Partial<Line>, other: Partial<Line>, expected: Partial<Line>]>([
    ["refunded under one id", refunded(-20), signed(-5), { revokedAt: at(-20) }],
    ["extended under one id", {}, { endsAt: at(5), ...signed(-5) }, { endsAt: at(5) }],
  ])("copies of one event are one period, %s", (_, one, other, expected) => {
    const copies = [one, other].map((more) => ({ ...monthly, ...more }));
    for (const some of [copies, copies.toReversed()]) {
      const lines = some.map((copy, index) => ({ ...copy, transactionIdentifier: `${index}` }));
      expect(periods(lines)).toMatchObject([{ line: expected }]);
    }
  });

  test.each([
    ["began strictly before it", -A_MILLISECOND, 0],
    ["did not begin with it", 0, 30],
  ])("another lineage ends what %s", (_, from, to) => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: at(0) };
    expect(spans([first(from, 30)], replaced)).toEqual(runs(`1: ${from} to ${to}`));
  });
});

test.each([
  ["that was refunded before its start never ran", -A_MILLISECOND, ""],
  ["that was refunded at its start never ran", 0, ""],
  ["that was refunded a millisecond later ran", A_MILLISECOND, ", 2: 0 to 30"],
])("a period %s", (_, refundedOn, expected) => {
  const charged = basic(0, 30, refunded(refundedOn));
  expect(spans([monthly, charged])).toEqual(runs(`1: -30 to 0${expected}`));
});

describe("a period charged ahead and overtaken by an upgrade never ran:", () => {
  /** The renewal is charged 20 hours before its start; the upgrade follows eight hours later. */
  const CHARGED = -20 * AN_HOUR;
  const UPGRADED = -12 * AN_HOUR;
  const charged = (more: Partial<Line> = {}) => basic(0, 30, { ...signed(CHARGED), ...more });
  const upgrade = (more: Partial<Line> = {}) => aPeriod("3", "plus", UPGRADED, 353, more);
  const named = (more: Partial<Renewal> = {}) =>
    aRenewal({ periodEndsAt: at(353), signedAt: at(UPGRADED), ...more });

  const OVERTAKEN = "3: -12h to 353";
  const PLACED_BEFORE = `2: -12h to -12h, ${OVERTAKEN}`;
  const BOTH = "3: -12h to 0, 2: 0 to 30";

  test.each<[rule: string, lines: readonly Line[], renewal: Renewal | null, expected: string]>([
    ["by its mark", [charged(marked(UPGRADED)), upgrade()], null, PLACED_BEFORE],
    [
      "by its mark, signed after its start, where more began since",
      [charged(marked(0.1)), upgrade(), aPeriod("4", "plus", 353, 720)],
      null,
      `${OVERTAKEN}, 4: 353 to 720`,
    ],
    [
      "by a renewal info, signed at the charge",
      [charged(), upgrade()],
      named({ signedAt: at(CHARGED) }),
      OVERTAKEN,
    ],
    ["but not before", [charged(), upgrade()], named({ signedAt: at(CHARGED) - 1 }), BOTH],
    ["at its start", [charged(signed(5)), upgrade()], named({ signedAt: at(0) }), OVERTAKEN],
    ["but not before its start", [charged(signed(5)), upgrade()], named({ signedAt: at(0) - 1 }), BOTH],
    ["to the minute", [charged(), upgrade()], named({ periodEndsAt: at(353) + MINUTE }), OVERTAKEN],
    ["but not later", [charged(), upgrade()], named({ periodEndsAt: at(353) + MINUTE + 1 }), BOTH],
    ["not by one that names no end", [charged(), upgrade()], named({ periodEndsAt: null }), BOTH],
    ["not by one that names it", [charged(), upgrade()], named({ periodEndsAt: at(30) }), BOTH],
    ["not by an upgrade that is marked itself", [charged(), upgrade(marked(30))], named(), BOTH],
    [
      "by an upgrade within the period that ended at its start",
      [monthly, charged(), upgrade()],
      null,
      `1: -30 to -12h, ${OVERTAKEN}`,
    ],
    [
      "not where that one began with the upgrade",
      [first(UPGRADED, 0), charged(), upgrade()],
      null,
      `1: -12h to -12h, ${BOTH}`,
    ],
    [
      "not where that one ended before",
      [first(-30, -A_MILLISECOND), charged(), upgrade()],
      null,
      `1: -30 to -12h, ${BOTH}`,
    ],
    ["not without any of the three", [charged(), upgrade()], null, BOTH],
  ])("%s", (_, lines, renewal, expected) => {
    expect(spans(lines, { renewal })).toEqual(runs(expected));
  });

  test.each<[rule: string, other: Line, isOvertaken: boolean]>([
    ["48 hours before its start", aPeriod("3", "plus", -2, 353), true],
    ["not earlier", aPeriod("3", "plus", -2 - A_MILLISECOND, 353), false],
    ["not with it", aPeriod("3", "plus", 0, 7), false],
    ["not by its own product", aPeriod("3", "basic", UPGRADED, 353), false],
    ["not by one that ended at its start", aPeriod("3", "plus", UPGRADED, 0), false],
    ["by one that ended a millisecond later", aPeriod("3", "plus", UPGRADED, A_MILLISECOND), true],
    ["not by one that was refunded at its start", upgrade(refunded(0)), false],
  ])("an upgrade is bought %s", (_, other, isOvertaken) => {
    const ids = spans([monthly, charged(), other]).map(([id]) => id);
    expect(ids.includes("2")).toBe(!isOvertaken);
  });
});

describe("a period whose refund was taken back", () => {
  const year = (more: Partial<Line> = {}) => first(-100, 265, { ...givenBack(-50, -40), ...more });
  const endWith = (from: number, line = year()) =>
    spans([line, plus(from, from + 30)]).find(([id]) => id === "1")?.[2];

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
  test("is followed by what begins at its end, whenever it was signed again", () => {
    const renewal = aRenewal({ periodEndsAt: at(0), isInBillingRetry: true, signedAt: at(1) });
    const [ended] = periods([first(-30, 0, givenBack(-20, 1)), plus(0, 30)], { renewal });
    expect(ended).toMatchObject({ cutAt: at(0), renewal: null });
  });
});

const isInferred = (line: Line, from: number) =>
  periods([line, plus(from, 355)]).map(({ isCutInferred }) => isCutInferred);
test.each<[rule: string, isSilent: boolean, line: Line, from?: number]>([
  ["which only the next period tells", true, monthly],
  ["which it has not signed since", true, { ...monthly, ...signed(-10 - A_MILLISECOND) }],
  ["unless it has", false, { ...monthly, ...signed(-10) }],
  ["unless it marked the period", false, { ...monthly, ...marked(-11) }],
  ["unless it refunded the period", false, { ...monthly, ...refunded(-20) }],
  ["unless that is the store's own end", false, monthly, 0],
])("the store is silent on a period's early end %s", (_, isSilent, line, from = -10) => {
  expect(isInferred(line, from)).toEqual([isSilent, false]);
});

describe("a renewal that was charged ahead, of which nothing before is known,", () => {
  const CHARGED = -20 * AN_HOUR;
  const charged = (more: Partial<Line> = {}) => basic(0, 30, { ...signed(CHARGED), ...more });
  const startOf = (lines: readonly Line[], more: Partial<Purchase> = {}) =>
    spans(lines, more).find(([id]) => id === "2")?.[1];

  test.each<[rule: string, from: number, lines: readonly Line[]]>([
    ["counts from its signing", CHARGED, [charged()]],
    ["up to 48 hours ahead", -2, [charged(signed(-2))]],
    ["not earlier", 0, [charged(signed(-2 - A_MILLISECOND))]],
    ["not where it was signed at its start", 0, [charged(signed(0))]],
    ["not where it is marked", 0, [charged(marked(CHARGED))]],
    ["although one ended earlier", CHARGED, [first(-30, -A_MILLISECOND * (MINUTE + 1)), charged()]],
    ["not where one ended within a minute", 0, [first(-30, -A_MILLISECOND * MINUTE), charged()]],
    ["although another begins with it", CHARGED, [charged(), aPeriod("3", "plus", 0, 30)]],
    ["not where the period before is refunded", 0, [{ ...monthly, ...refunded(-6) }, charged()]],
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
