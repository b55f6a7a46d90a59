import { HOUR } from "../../lib/duration.ts";
import { fromAnotherPlace } from "../../lib/queues/work-off-all.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";

const list = (length: number) => Array.from({ length }, (_, place) => place);

test("a list goes round from where it begins, at one place in a period", () => {
  for (const moment of [NOW, NOW + HOUR]) {
    const [first = 0, ...others] = fromAnotherPlace(list(7), HOUR, moment);
    expect(others).toEqual([1, 2, 3, 4, 5, 6].map((later) => (first + later) % 7));
    expect(fromAnotherPlace(list(7), HOUR, moment + HOUR - 1)[0]).toBe(first);
  }
  expect(fromAnotherPlace([], HOUR, NOW)).toEqual([]);
});

test.each([1, 2, 3, 7, 24, 100])("each of %i is the first within three times as many periods", (length) => {
  const firsts = list(3 * length).map(
    (passed) => fromAnotherPlace(list(length), HOUR, NOW + passed * HOUR)[0],
  );
  expect(new Set(firsts).size).toBe(length);
});
