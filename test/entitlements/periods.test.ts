import { isSucceeded, periodOf } from "../../lib/entitlements/periods.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../lib/entitlements/renewal.ts";
import { aLine, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const period = (transactionIdentifier: string, from: number, to: number, more: Partial<Line> = {}): Line =>
  aLine({
    transactionIdentifier,
    startsAt: NOW + from * DAY,
    endsAt: NOW + to * DAY,
    verifiedAt: NOW + from * DAY,
    ...more,
  });
const pass = aLine({ transactionIdentifier: "pass", nature: "non_renewing", endsAt: null });

/** The transaction of the period that a renewal info speaks of. */
const spokenOf = (
  lines: readonly Line[],
  date: number | null,
  signed: number,
  more: Partial<Renewal> = {},
): string | null | undefined =>
  periodOf(
    aRenewal({
      periodEndsAt: date === null ? null : NOW + date * DAY,
      signedAt: NOW + signed * DAY,
      ...more,
    }),
    lines,
  )?.transactionIdentifier;

describe("a renewal info speaks of", () => {
  const first = period("1", 0, 30);
  const second = period("2", 30, 60);
  const third = period("3", 60, 90);

  test("the period that ends at its renewal date, whenever it was signed", () => {
    expect(spokenOf([first, second, third], 60, 0)).toBe("2");
    expect(spokenOf([first, second, third], 60, 100)).toBe("2");
  });

  test("of several with that end the last", () => {
    expect(spokenOf([period("a", 0, 60), period("b", 10, 60), first], 60, 0)).toBe("b");
  });

  test("not an upgraded one with that end", () => {
    const upgraded = period("b", 40, 60, { standing: "expired" });
    expect(spokenOf([second, upgraded], 60, 0)).toBe("2");
    expect(spokenOf([upgraded], 60, 0)).toBeUndefined();
  });

  test("otherwise the last that had begun when it was signed", () => {
    expect(spokenOf([first, second, third], 61, 30)).toBe("2");
    expect(spokenOf([first, second, third], null, 30)).toBe("2");
    expect(spokenOf([first, second, third], null, 29.9)).toBe("1");
    expect(spokenOf([third, second, first], null, 100)).toBe("3");
  });

  test.each<[what: string, more: Partial<Renewal>]>([
    ["is in billing retry", { isInBillingRetry: true }],
    ["is in a grace period", { isInGrace: true }],
    ["has a grace period's end", { graceEndsAt: NOW + 33 * DAY }],
  ])("the last that was over when it was signed, or two days later, if one was and it %s", (_, more) => {
    expect(spokenOf([first, second, third], 33, 31, more)).toBe("1");
    expect(spokenOf([first, second, third], null, 30, more)).toBe("1");
    expect(spokenOf([first, second, third], null, 29.9, more)).toBe("1");
    expect(spokenOf([first, second, third], null, 57.9, more)).toBe("1");
    expect(spokenOf([first, second, third], null, 58, more)).toBe("2");
    expect(spokenOf([first, second, third], null, 61, more)).toBe("2");
    expect(spokenOf([second, third], null, 31, more)).toBe("2");
    expect(spokenOf([first, second, third], 60, 31, more)).toBe("2");
  });

  test("the period that took the place of a longer one", () => {
    expect(spokenOf([period("year", 0, 365), second], null, 100)).toBe("2");
  });

  test("of several that began together the last in the order of the lines", () => {
    expect(spokenOf([period("a", 0, 60), period("b", 0, 30)], null, 100)).toBe("b");
  });

  test("a period known only by a copy restored after its end, which had begun by its end", () => {
    const restored = period("r", 50, 30);
    expect(spokenOf([restored], null, 30)).toBe("r");
    expect(spokenOf([restored], null, 29.9)).toBeUndefined();
  });

  test("one whose start is not known", () => {
    expect(spokenOf([period("s", 0, 30, { startsAt: null })], null, 0)).toBe("s");
  });

  test("nothing where no period had begun, and never of a pass", () => {
    expect(spokenOf([second], null, 29.9)).toBeUndefined();
    expect(spokenOf([pass], null, 100)).toBeUndefined();
    expect(spokenOf([first, pass], null, 100)).toBe("1");
  });
});

describe("a period is succeeded", () => {
  const first = period("1", 0, 30);

  test("not by a longer one whose place it took", () => {
    expect(isSucceeded(first, [period("year", -10, 355), first])).toBe(false);
    expect(isSucceeded(first, [period("year", 0, 365, { standing: "expired" }), first])).toBe(false);
  });

  test("by one that began with it and ends later", () => {
    expect(isSucceeded(first, [first, period("year", 0, 365)])).toBe(true);
  });

  test("by one that was upgraded later", () => {
    expect(isSucceeded(first, [first, period("2", 30, 60, { standing: "expired" })])).toBe(true);
  });

  test("by one that ends later", () => {
    expect(isSucceeded(first, [first, period("2", 30, 30.1)])).toBe(true);
    expect(isSucceeded(first, [first])).toBe(false);
    expect(isSucceeded(first, [first, period("2", 10, 30)])).toBe(false);
    expect(isSucceeded(first, [first, period("2", 31, 29)])).toBe(false);
  });

  test("not by a pass of the lineage", () => {
    expect(isSucceeded(first, [first, pass])).toBe(false);
  });
});

test("a period that was refunded and given back is succeeded by its renewal, and not by what was bought beside it", () => {
  const givenBack = period("1", 0, 30, { revokedSince: NOW + 5 * DAY, refundedBy: NOW + 5 * DAY });
  expect(isSucceeded(givenBack, [givenBack, period("2", 10, 40)])).toBe(false);
  expect(isSucceeded(givenBack, [givenBack, period("2", 30, 60)])).toBe(true);
  expect(isSucceeded(period("1", 0, 30), [period("2", 10, 40)])).toBe(true);
});
