export const chunks = <T>(values: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  );

/**
 * Splits values, in their order, into parts whose sums of weights do not exceed the limits. A value beyond a limit is a
 * part of its own.
 *
 * @param taken sums with which the first part starts, which may then be empty; unset: none
 */
export const partsWithin = <T>(
  values: readonly T[],
  limits: readonly number[],
  weightsOf: (value: T) => readonly number[],
  taken?: readonly number[],
): T[][] => {
  const parts: T[][] = taken === undefined ? [] : [[]];
  let sums = taken ?? limits.map(() => Infinity);
  for (const value of values) {
    const weights = weightsOf(value);
    sums = sums.map((sum, index) => sum + (weights[index] ?? 0));
    if (sums.some((sum, index) => sum > (limits[index] ?? 0))) {
      parts.push([]);
      sums = weights;
    }
    parts.at(-1)?.push(value);
  }
  return parts;
};
