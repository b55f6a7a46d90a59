import { OctetString, type BaseBlock } from "asn1js";
import fc from "fast-check";
import { readDer, TAGS, type DerValue } from "../../../../lib/stores/ios-store/signatures/der.ts";
import { cases } from "../../../../testing/support/proof.ts";

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");
const der = (block: BaseBlock): Buffer => Buffer.from(block.toBER());

/** A value in its shortest encoding, written by hand. */
const written = (tag: number, content: Uint8Array): Buffer => {
  const digits = content.length.toString(16);
  const length = digits.padStart(digits.length + (digits.length % 2), "0");
  const long = content.length > 127 ? (0x80 + length.length / 2).toString(16) : "";
  return Buffer.concat([Buffer.of(tag), bytesOf(`${long}${length}`), content]);
};

test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536, 16_777_215])("a value of %d bytes is read", (length) => {
  const content = Buffer.alloc(length, 7);
  const encoding = der(new OctetString({ valueHex: content }));
  const [value, ...more] = readDer(encoding);
  expect(more).toEqual([]);
  expect(value?.tag).toBe(TAGS.octetString);
  expect(content.equals(value?.content ?? Buffer.of(0))).toBe(true);
  expect(encoding.equals(value?.encoding ?? Buffer.of(0))).toBe(true);
});

test.each([
  ["a tag alone", "30"],
  ["a tag of more than one byte", "1f 81 00 01 00"],
  ["an indefinite length", "30 80 00 00"],
  ["a length in the long form that fits the short form", `04 81 7f ${"00".repeat(127)}`],
  ["a length of four bytes", "04 84 00 00 00 01 00"],
  ["a truncated value", "04 02 00"],
  ["one byte after the value", "04 01 00 04"],
])("%s is refused", (_, hex) => {
  expect(() => readDer(bytesOf(hex))).toThrow(RangeError);
});

const anyValue = fc.tuple(
  fc.integer({ min: 0, max: 0xff }).filter((tag) => (tag & 0x1f) !== 0x1f),
  fc.oneof(fc.uint8Array({ maxLength: 6 }), fc.uint8Array({ minLength: 120, maxLength: 300, size: "max" })),
);

test("any value in its shortest encoding is read back", () => {
  fc.assert(
    fc.property(fc.array(anyValue, { maxLength: 5 }), (values) => {
      const encodings = values.map(([tag, content]) => written(tag, content));
      expect(readDer(Buffer.concat(encodings))).toEqual(
        values.map(([tag, content], index) => ({
          tag,
          content: Buffer.from(content),
          encoding: encodings[index],
        })),
      );
    }),
    cases(200, 20_000),
  );
});

const read = (bytes: Uint8Array): readonly DerValue[] | null => {
  try {
    return readDer(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return null;
  }
};

test("any bytes that can be read are in their shortest encoding", () => {
  const close = fc.tuple(fc.array(anyValue, { minLength: 1, maxLength: 3 }), fc.nat(), fc.nat(0xff));
  fc.assert(
    fc.property(close, fc.boolean(), ([values, place, byte], isCut) => {
      const bytes = Buffer.concat(values.map(([tag, content]) => written(tag, content)));
      bytes[place % bytes.length] = byte;
      const given = isCut ? bytes.subarray(0, place % bytes.length) : bytes;
      const found = read(given);
      if (found === null) return;
      expect(Buffer.concat(found.map(({ tag, content }) => written(tag, content))).equals(given)).toBe(true);
    }),
    cases(1_000, 100_000),
  );
});
