import { momentAt } from "../../lib/entitlements/moment.ts";
import { NOW } from "../../testing/support/purchases.ts";

test.each([
  ["before it", NOW - 1, true],
  ["at it", NOW, true],
  ["a millisecond after it", NOW + 1, false],
])("an instant %s has come, or not", (_, instant, has) => {
  expect(momentAt(NOW).hasCome(instant)).toBe(has);
});

describe("the next instant asked about", () => {
  const nextOf = (...instants: readonly number[]): number | null => {
    const moment = momentAt(NOW);
    for (const instant of instants) moment.hasCome(instant);
    return moment.nextAsked();
  };

  test.each([
    ["none where nothing was asked", null, []],
    ["none where all have come", null, [NOW - 1, NOW]],
    ["the earliest that has not come", NOW + 1, [NOW + 2, NOW - 1, NOW + 1, NOW + 3]],
    ["none where it would be after the last instant", null, [Date.UTC(10_000, 0), Infinity]],
  ])("is %s", (_, expected, instants) => {
    expect(nextOf(...instants)).toBe(expected);
  });
});
