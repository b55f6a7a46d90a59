import fc from "fast-check";
import type { Environment } from "../../../../lib/contract/schemas.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";

export const MINUTE = 60_000;
export const END = NOW;
export const BEGIN = END - 700 * DAY;

/** The value that an arbitrary makes. */
export type Made<A> = A extends fc.Arbitrary<infer T> ? T : never;

export const choice = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

export const environment: fc.Arbitrary<Environment> = fc.oneof(
  { weight: 6, arbitrary: choice("production") },
  { weight: 1, arbitrary: choice("sandbox") },
);

/** The value at this index, counted modulo. */
export const at = <T>(values: readonly T[], index: number): T => {
  const value = values[index % values.length];
  if (value === undefined) throw new RangeError("There is nothing to choose from.");
  return value;
};
