import {
  askedForAgain,
  dueBy,
  isQueued,
  isStillAskedFor,
  KEPT_AFTER_DUE,
} from "../../lib/freshness/refresh.ts";
import { DAY, NOW } from "../../testing/support/purchases.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each<[after: number, at: number | null]>([
  [-MINUTE, NOW + 10 * MINUTE],
  [10 * MINUTE - 1, NOW + 10 * MINUTE],
  [10 * MINUTE, NOW + 6 * HOUR],
  [6 * HOUR, NOW + DAY],
  [DAY - 1, NOW + DAY],
  [DAY, null],
])("a refresh asked for is repeated %i ms later, without an answer, at %s", (after, at) => {
  expect(askedForAgain(NOW, NOW + after)).toBe(at);
});

test("a refresh is asked for until a day has passed", () => {
  expect(isStillAskedFor(NOW, NOW + DAY - 1)).toBe(true);
  expect(isStillAskedFor(NOW, NOW + DAY)).toBe(false);
  expect(isStillAskedFor(null, NOW)).toBe(false);
});

test("a refresh is in its queue until its item expires", () => {
  expect(isQueued(null, NOW)).toBe(false);
  expect(isQueued(NOW, NOW + KEPT_AFTER_DUE - 1)).toBe(true);
  expect(isQueued(NOW, NOW + KEPT_AFTER_DUE)).toBe(false);
});

test("a queued refresh that is due before another stays", () => {
  expect(dueBy(NOW, null, NOW)).toBe(NOW);
  expect(dueBy(NOW, NOW - 1, NOW)).toBe(NOW - 1);
  expect(dueBy(NOW, NOW + 1, NOW)).toBe(NOW);
  // Its item has expired.
  expect(dueBy(NOW, NOW - KEPT_AFTER_DUE, NOW)).toBe(NOW);
});
