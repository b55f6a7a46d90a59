/** Ascending comparator for `Array.sort`; strings compare by their UTF-16 code units. */
export const compare = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Whether two lists hold the same values in the same order. */
export const sameList = <T>(a: readonly T[], b: readonly T[], same: (a: T, b: T) => boolean): boolean =>
  a === b || (a.length === b.length && a.every((value, index) => same(value, b[index] as T)));
