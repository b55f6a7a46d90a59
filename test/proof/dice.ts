import { randomFrom } from "../../sandbox/exports/plan.ts";

/** Random choices from a seed, the same ones each time. */
export const diceFrom = (seed: number) => {
  const random = randomFrom(seed).next;
  /** An integer in [0, below). */
  const number = (below: number): number => Math.floor(random() * Math.max(0, below));
  return {
    number,
    /** An integer in [from, to); `from` where there is none. */
    within: (from: number, to: number): number => from + number(to - from),
    chance: (probability: number): boolean => random() < probability,
    pick: <const T>(from: readonly T[]): T => {
      const picked = from[number(from.length)];
      if (picked === undefined) throw new RangeError("There is nothing to choose from.");
      return picked;
    },
    bytes: (length: number): Buffer => Buffer.from(Array.from({ length }, () => number(256))),
    /** Text with characters of the alphabet. */
    text: (alphabet: string, length: number): string =>
      Array.from({ length }, () => alphabet[number(alphabet.length)]).join(""),
  };
};
export type Dice = ReturnType<typeof diceFrom>;
