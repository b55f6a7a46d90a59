import { randomFrom } from "../../../testing/support/proof.ts";

/** Choices that a seed determines. */
export interface Choices {
  /** An integer in [0, below). */
  number(below: number): number;
  pick<T>(from: readonly T[]): T;
  /** True `times` out of a hundred. */
  percent(times: number): boolean;
  bytes(length: number): Buffer;
  /** Text with characters of the alphabet. */
  text(alphabet: string, length: number): string;
}

export const choicesFrom = (seed: number): Choices => {
  const random = randomFrom(seed);
  const number = (below: number): number => Math.floor(random() * below);
  return {
    number,
    pick: (from) => {
      const [first] = from;
      const picked = from[number(from.length)] ?? first;
      if (picked === undefined) throw new Error("There is nothing to choose from.");
      return picked;
    },
    percent: (times) => random() * 100 < times,
    bytes: (length) => Buffer.from(Array.from({ length }, () => number(256))),
    text: (alphabet, length) => Array.from({ length }, () => alphabet[number(alphabet.length)]).join(""),
  };
};
