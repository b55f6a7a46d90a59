import { randomFrom } from "../../../testing/support/proof.ts";

/** Random choices from a seed, the same ones each time. */
export interface Dice {
  /** An integer from 0 to `most`. */
  readonly upTo: (most: number) => number;
  readonly chance: (probability: number) => boolean;
  /** An integer in [from, to); `from` where there is none. */
  readonly within: (from: number, to: number) => number;
  readonly one: <T>(...of: readonly [T, ...T[]]) => T;
}

export const diceFrom = (seed: number): Dice => {
  const next = randomFrom(seed);
  const within = (from: number, to: number): number => from + Math.floor(next() * Math.max(0, to - from));
  return {
    within,
    upTo: (most) => within(0, most + 1),
    chance: (probability) => next() < probability,
    one: (...of) => of[within(0, of.length)] ?? of[0],
  };
};
