/** Mulberry32. */
const numbersFrom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

export type Random = ReturnType<typeof randomFrom>;

/** Chance that a seed decides: the same seed makes the same choices and identifiers. */
export const randomFrom = (seed: number) => {
  const next = numbersFrom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  /** Chunks of one number each, cut to the length. */
  const text = (length: number, chunk: () => string): string => {
    let made = "";
    while (made.length < length) made += chunk();
    return made.slice(0, length);
  };
  const hex = (digits: number): string =>
    text(digits, () =>
      below(2 ** 32)
        .toString(16)
        .padStart(8, "0"),
    );
  return {
    /** From 0 to below 1. */
    next,
    /** From 0 to below the limit. */
    below,
    chance: (share: number): boolean => next() < share,
    pick: <Value>(values: readonly [Value, ...Value[]]): Value => values[below(values.length)] ?? values[0],
    hex,
    digits: (count: number): string => text(count, () => String(below(1e9)).padStart(9, "0")),
    /** A UUID of version 4. */
    uuid: (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab".charAt(below(4))}${hex(3)}-${hex(12)}`,
    shuffled: <Value>(values: readonly Value[]): Value[] => {
      const list = [...values];
      for (let index = list.length - 1; index > 0; index -= 1) {
        const other = below(index + 1);
        const moved = list.splice(index, 1, ...list.slice(other, other + 1));
        list.splice(other, 1, ...moved);
      }
      return list;
    },
  };
};
