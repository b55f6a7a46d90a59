import { hash } from "node:crypto";

/** The first 64 bits of a SHA-256: names an identifier or an account in memory. */
export interface Digest {
  readonly high: number;
  readonly low: number;
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** @param hex a SHA-256, as hexadecimal digits */
export const digestOfHex = (hex: string): Digest => ({
  high: Number.parseInt(hex.slice(0, 8), 16),
  low: Number.parseInt(hex.slice(8, 16), 16),
});

export const digestOf = (text: string): Digest => digestOfHex(sha256(text));

/**
 * Numbers for digests, from 0 on: a set and a map's keys in about 15 bytes each, so that millions of rows fit into memory.
 * Two of five million identifiers share a digest with a chance of one in a million.
 */
export const createSlots = () => {
  const highs = createColumn(Uint32Array);
  const lows = createColumn(Uint32Array);
  /** Slots plus one, by the digest's low half; 0: free. */
  let places = new Uint32Array(2048);
  let count = 0;

  const placeOf = ({ high, low }: Digest): number => {
    const mask = places.length - 1;
    for (let place = low & mask; ; place = (place + 1) & mask) {
      const slot = (places[place] ?? 0) - 1;
      if (slot < 0 || (lows.get(slot) === low && highs.get(slot) === high)) return place;
    }
  };
  const rehash = (): void => {
    places = new Uint32Array(places.length * 2);
    for (let slot = 0; slot < count; slot += 1)
      places[placeOf({ high: highs.get(slot), low: lows.get(slot) })] = slot + 1;
  };

  return {
    get count(): number {
      return count;
    },
    /** The slot of a digest, made if there is none. */
    slotOf: (digest: Digest): number => {
      const place = placeOf(digest);
      const known = (places[place] ?? 0) - 1;
      if (known >= 0) return known;
      const slot = count;
      highs.set(slot, digest.high);
      lows.set(slot, digest.low);
      places[place] = slot + 1;
      count += 1;
      if (count * 4 > places.length * 3) rehash();
      return slot;
    },
    /** -1: there is none. */
    find: (digest: Digest): number => (places[placeOf(digest)] ?? 0) - 1,
  };
};

const BLOCK = 1024 * 1024;
const LENGTH_BYTES = 2;

/** Short texts of slots, outside of the heap: the bytes of each, and six more. */
export const createTexts = () => {
  const places = createColumn(Uint32Array);
  const blocks: Buffer[] = [];
  let end = 0;
  return {
    get: (slot: number): string | undefined => {
      const place = places.get(slot) - 1;
      const block = place < 0 ? undefined : blocks[Math.floor(place / BLOCK)];
      if (block === undefined) return undefined;
      const start = (place % BLOCK) + LENGTH_BYTES;
      return block.toString("utf8", start, start + block.readUInt16LE(place % BLOCK));
    },
    set: (slot: number, text: string): void => {
      const bytes = Buffer.byteLength(text);
      // A text lies in one block.
      if ((end % BLOCK) + LENGTH_BYTES + bytes > BLOCK) end = blocks.length * BLOCK;
      const block = (blocks[Math.floor(end / BLOCK)] ??= Buffer.alloc(BLOCK));
      block.writeUInt16LE(bytes, end % BLOCK);
      block.write(text, (end % BLOCK) + LENGTH_BYTES);
      places.set(slot, end + 1);
      end += LENGTH_BYTES + bytes;
    },
  };
};

type Numbers = Uint8Array | Uint16Array | Uint32Array;

/** A number for each slot, 0 unless set. `of` is the class of the array, by the size of the numbers. */
export const createColumn = (of: new (length: number) => Numbers) => {
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
