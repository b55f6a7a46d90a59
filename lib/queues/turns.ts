/** Multiples of the golden ratio, less their whole numbers, spread evenly from 0 to 1, however many there are. */
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/**
 * The list from another place on in each period: whatever a run has no time for, the next ones begin with it.
 *
 * @param period in milliseconds, as the moment
 */
export const fromAnotherPlace = <T>(list: readonly T[], period: number, moment: number): readonly T[] => {
  const place = (Math.floor(moment / period) * GOLDEN_RATIO) % 1;
  const first = Math.floor(place * list.length);
  return [...list.slice(first), ...list.slice(0, first)];
};
