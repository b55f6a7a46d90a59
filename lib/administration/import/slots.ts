import { hash } from "node:crypto";

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/**
 * Numbers for SHA-256, from 0 on: a set and a map's keys in about 15 bytes each, so that millions of rows fit into memory.
 * It compares 64 bits: two of five million identifiers collide with a chance of one in a million.
 */
export const createSlots = () => {
  const highs = createColumn(Uint32Array);
  const lows = createColumn(Uint32Array);
  /** Slots plus one, by the low half; 0: free. */
  let places = new Uint32Array(2048);
  let count = 0;

  const placeOf = (high: number, low: number): number => {
    const mask = places.length - 1;
    for (let place = low & mask; ; place = (place + 1) & mask) {
      const slot = (places[place] ?? 0) - 1;
      if (slot < 0 || (lows.get(slot) === low && highs.get(slot) === high)) return place;
    }
  };
  const rehash = (): void => {
    places = new Uint32Array(places.length * 2);
    for (let slot = 0; slot < count; slot += 1) places[placeOf(highs.get(slot), lows.get(slot))] = slot + 1;
  };
  const halvesOf = (sha: string) =>
    [Number.parseInt(sha.slice(0, 8), 16), Number.parseInt(sha.slice(8, 16), 16)] as const;

  return {
    get count(): number {
      return count;
    },
    /** The slot of a SHA-256, made if there is none. */
    slotOf: (sha: string): number => {
      const [high, low] = halvesOf(sha);
      const place = placeOf(high, low);
      const known = (places[place] ?? 0) - 1;
      if (known >= 0) return known;
      const slot = count;
      highs.set(slot, high);
      lows.set(slot, low);
      places[place] = slot + 1;
      count += 1;
      if (count * 4 > places.length * 3) rehash();
      return slot;
    },
    /** -1: there is none. */
    find: (sha: string): number => (places[placeOf(...halvesOf(sha))] ?? 0) - 1,
  };
};

export type Slots = ReturnType<typeof createSlots>;

/** A number for each slot, 0 unless set. `of` is the class of the array, by the size of the numbers. */
export const createColumn = (of: new (length: number) => Uint8Array | Uint32Array) => {
  let numbers = new of(1024);
  return {
    get: (slot: number): number => numbers[slot] ?? 0,
    set: (slot: number, value: number): void => {
      if (slot >= numbers.length) {
        const longer = new of(Math.max(slot + 1, Math.ceil(numbers.length * 1.5)));
        longer.set(numbers);
        numbers = longer;
      }
      numbers[slot] = value;
    },
  };
};
