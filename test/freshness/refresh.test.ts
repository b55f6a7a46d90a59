import { dueBy, isQueued, KEPT_AFTER_DUE } from "../../lib/freshness/refresh.ts";
import { isStillAskedFor, nextRefresh } from "../../lib/freshness/refresh-times.ts";
import { aLine, aPurchase, DAY, NOW } from "../support/purchases.ts";

test("a refresh is in its queue until its item expires", () => {
  expect(isQueued(null, NOW)).toBe(false);
  expect(isQueued(NOW, NOW + KEPT_AFTER_DUE - 1)).toBe(true);
  expect(isQueued(NOW, NOW + KEPT_AFTER_DUE)).toBe(false);
});

test("a refresh that is to be made by a time is the queued one, if that is due before", () => {
  expect(dueBy(NOW, null, NOW)).toBe(NOW);
  expect(dueBy(NOW, NOW - 1, NOW)).toBe(NOW - 1);
  expect(dueBy(NOW, NOW + 1, NOW)).toBe(NOW);
  // Its item has expired.
  expect(dueBy(NOW, NOW - KEPT_AFTER_DUE, NOW)).toBe(NOW);
});

test("a refresh is asked for until a day after it was", () => {
  expect(isStillAskedFor(null, 0)).toBe(false);
  expect(isStillAskedFor(NOW, NOW + DAY - 1)).toBe(true);
  expect(isStillAskedFor(NOW, NOW + DAY)).toBe(false);
});

test("a subscription's times are those of its periods, whatever else its lineage has", () => {
  const period = aLine({ transactionIdentifier: "1", event: "w1" });
  const pass = aLine({ transactionIdentifier: "2", event: "w2", nature: "consumable", startsAt: NOW + DAY });
  const next = (after: number, ...lines: Parameters<typeof aLine>[0][]) =>
    nextRefresh(aPurchase({ lines: lines.map((line) => aLine(line)) }), after);
  expect(next(NOW, period, pass)).toEqual(next(NOW, period));
  expect(next(NOW, pass)).toBeNull();
});
