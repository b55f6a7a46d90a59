/** A value in DER: its tag, what it holds, and all of it as it is written. */
export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  readonly encoding: Uint8Array;
}

/** Tags as certificates have them: a class, whether it holds other values, and a number, in one byte. */
export const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  /** Of a certificate's own, and holding another value: `[0]` and `[3]`. */
  version: 0xa0,
  extensions: 0xa3,
} as const;

const LONG_TAG = 0x1f;
const LONG_LENGTH = 0x80;
/** 16 MB. */
const MOST_LENGTH_BYTES = 3;

/** How many bytes the length is written with, and what it says. */
const readLength = (bytes: Uint8Array): { readonly written: number; readonly length: number } => {
  const [first = LONG_LENGTH, ...following] = bytes.subarray(0, 1 + MOST_LENGTH_BYTES);
  if (first < LONG_LENGTH) return { written: 1, length: first };
  const digits = following.slice(0, first - LONG_LENGTH);
  const length = digits.reduce((sum, digit) => sum * 0x100 + digit, 0);
  // Only the shortest form is DER: none where the short one would do, and no leading zero.
  const fewest = Math.max(LONG_LENGTH, 0x100 ** (digits.length - 1));
  if (digits.length !== first - LONG_LENGTH || length < fewest) throw new RangeError("Not a length of DER.");
  return { written: 1 + digits.length, length };
};

/**
 * The values that fill these bytes, one after the other: tags of one byte, definite lengths.
 *
 * @see https://www.itu.int/rec/T-REC-X.690
 * @throws RangeError where the bytes are anything else
 */
export const readDer = (bytes: Uint8Array): readonly DerValue[] => {
  const values: DerValue[] = [];
  for (let start = 0; start < bytes.length;) {
    const tag = bytes[start] ?? LONG_TAG;
    const { written, length } = readLength(bytes.subarray(start + 1));
    const end = start + 1 + written + length;
    if ((tag & LONG_TAG) === LONG_TAG || end > bytes.length) throw new RangeError("Not DER.");
    values.push({ tag, content: bytes.subarray(end - length, end), encoding: bytes.subarray(start, end) });
    start = end;
  }
  return values;
};
