import { isSameEnd, periodsOf, unseenEnd } from "../../../lib/entitlements/subscription-periods.ts";
import type { Line } from "../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../lib/entitlements/renewal.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { aLine, aRenewal } from "../../../testing/support/stores/purchases.ts";
import { A_MILLISECOND, aPeriod, at, marked, MINUTE, refunded } from "../history.ts";
import { basic, first, lineage, monthly, periods } from "./periods.ts";

describe("a renewal info is about", () => {
  const month = first(0, 30);
  const second = basic(30, 60);
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
    ["the period whose end it names, whenever it was signed", [month, second], 60, 0, "2"],
    ["the end within a minute", [month, second], 60 + MINUTE * A_MILLISECOND, 0, "2"],
    ["not a later end", [month, second], 60 + (MINUTE + 1) * A_MILLISECOND, 0, undefined],
    ["none that another followed", [month, second], 30, 0, undefined],
    ["otherwise the last that had begun", [month, second], null, 30, "2"],
    ["not one that had not begun", [month, second], null, 30 - A_MILLISECOND, undefined],
    ["the one known, whose end it does not name", [month], 31, 10, "1"],
    ["none where no period had begun", [second], null, 29, undefined],
    ["not a marked one with that end", [{ ...month, ...marked(5) }], 30, -1, undefined],
    ["none that a mark ended", [{ ...month, ...marked(5) }], null, 10, undefined],
    ["the last period at its own end, marked there", [{ ...month, ...marked(30) }], null, 10, "1"],
  ])("%s", (_, lines, date, signedOn, id) => {
    expect(statedOf(lines, date, signedOn)).toBe(id);
  });

  test.each<[rule: string, lines: readonly Line[], signedOn: number, id: string | undefined]>([
    ["the last that had ended by then", [month, second], 61, "2"],
    ["or ends two days later", [month, second], 58, "2"],
    ["not one that runs longer: the one before, which was followed", [month, second], 57.9, undefined],
    ["the last begun, where none had ended", [month], 10, "1"],
    ["not what an upgrade cut", [aPeriod("0", "basic", -10, 5), { ...year, startsAt: at(0) }], 20, undefined],
  ])("a failed payment: %s", (_, lines, signedOn, id) => {
    expect(statedOf(lines, null, signedOn, failing)).toBe(id);
  });

  test("not what another lineage ended", () => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: at(10) };
    const renewal = aRenewal({ periodEndsAt: at(30), signedAt: at(5) });
    expect(periods([month], { ...replaced, renewal }).map((one) => one.renewal)).toEqual([null]);
  });
});

describe("an end that only the renewal info names", () => {
  const unseen = (days: number | null, lines: readonly Line[], more: Partial<Renewal> = {}) => {
    const periodEndsAt = days === null ? null : at(days);
    const purchase = lineage(lines, { renewal: aRenewal({ periodEndsAt, signedAt: at(0), ...more }) });
    return unseenEnd(purchase, periodsOf(purchase)) === at(days ?? 0);
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
});

test.each([0, MINUTE, -MINUTE, MINUTE + 1, -MINUTE - 1])("whether ends %i ms apart are the same", (apart) => {
  expect(isSameEnd(at(0), at(0) + apart)).toBe(Math.abs(apart) <= MINUTE);
});

test.each<[rule: string, isKnown: boolean, next: Line]>([
  ["that begins at its end", true, basic(0, 30)],
  ["also of another product", true, aPeriod("2", "plus", 0, 30)],
  ["not one that begins earlier", false, basic(-A_MILLISECOND, 30)],
  ["not one that begins later", false, basic(A_MILLISECOND, 30)],
  ["not a refunded one", false, basic(0, 30, refunded(1))],
  ["not one that was upgraded", false, basic(0, 30, marked(1))],
])("a period's renewal is known %s", (_, isKnown, next) => {
  expect(periods([monthly, next]).map(({ isRenewed }) => isRenewed)).toEqual([isKnown, false]);
});
