import { dueBy, isQueued, KEPT_AFTER_DUE } from "../../lib/freshness/refresh.ts";
import { NOW } from "../../testing/support/purchases.ts";

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
