import { randomFrom } from "../../testing/support/proof.ts";

/** Random choices from a seed, the same ones each time. */
export interface Dice {
  /** An integer in [0, below). */
  readonly number: (below: number) => number;
  /** An integer in [from, to); `from` where there is none. */
  readonly within: (from: number, to: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <const T>(from: readonly T[]) => T;
  readonly bytes: (length: number) => Buffer;
  /** Text with characters of the alphabet. */
  readonly text: (alphabet: string, length: number) => string;
}

export const diceFrom = (seed: number): Dice => {
  const random = randomFrom(seed);
  const number = (below: number): number => Math.floor(random() * Math.max(0, below));
  return {
    number,
    within: (from, to) => from + number(to - from),
    chance: (probability) => random() < probability,
    pick: (from) => {
      const picked = from[number(from.length)];
      if (picked === undefined) throw new RangeError("There is nothing to choose from.");
      return picked;
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => number(256))),
    text: (alphabet, length) => Array.from({ length }, () => alphabet[number(alphabet.length)]).join(""),
  };
};
