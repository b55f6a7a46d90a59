export type Random = ReturnType<typeof randomFrom>;

/** Chance that a seed decides (Mulberry32): the same seed makes the same choices and identifiers. */
export const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  /** From 0 to below 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** From 0 to below the limit. */
  const below = (limit: number): number => Math.floor(next() * limit);
  /** Chunks of one number each, cut to the length. */
  const text = (length: number, chunk: () => string): string => {
    let made = "";
    while (made.length < length) made += chunk();
    return made.slice(0, length);
  };
  const hexadecimal = (): string =>
    below(2 ** 32)
      .toString(16)
      .padStart(8, "0");
  const hex = (digits: number): string => text(digits, hexadecimal);
  return {
    next,
    below,
    chance: (share: number): boolean => next() < share,
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
