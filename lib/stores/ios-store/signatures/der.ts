/** A DER value: tag, content, and the whole encoding. */
export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  readonly encoding: Uint8Array;
}

/** One-byte tags that certificates use: class, constructed bit, and number. */
export const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  /** Context-specific and constructed: `[0]` and `[3]`. */
  version: 0xa0,
  extensions: 0xa3,
} as const;

const LONG_TAG = 0x1f;
const LONG_LENGTH = 0x80;
/** Up to 16 MB. */
const MOST_LENGTH_BYTES = 3;

/** Size of the length field in bytes, and the length it gives. */
const readLength = (bytes: Uint8Array): { readonly written: number; readonly length: number } => {
  const [first = LONG_LENGTH, ...following] = bytes.subarray(0, 1 + MOST_LENGTH_BYTES);
  if (first < LONG_LENGTH) return { written: 1, length: first };
  const digits = following.slice(0, first - LONG_LENGTH);
  const length = digits.reduce((sum, digit) => sum * 0x100 + digit, 0);
  // DER allows only the shortest form: no long form where the short one suffices, no leading zero.
  const fewest = Math.max(LONG_LENGTH, 0x100 ** (digits.length - 1));
  if (digits.length !== first - LONG_LENGTH || length < fewest) throw new RangeError("Not a DER length.");
  return { written: 1 + digits.length, length };
};

/**
 * Parses consecutive values that fill the bytes: one-byte tags, definite lengths.
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
