import type { Dice } from "../dice.ts";

/** A DER value: its tag, and its content as bytes or as values. */
export type DerValue =
  | { readonly tag: number; readonly content: Buffer }
  | { readonly tag: number; readonly values: readonly DerValue[] };

const length = (size: number): Buffer => {
  if (size < 0x80) return Buffer.of(size);
  const hex = size.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
};

export const element = (tag: number, content: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(tag), length(content.length), content]);

export const encode = (value: DerValue): Buffer =>
  element(value.tag, "content" in value ? value.content : Buffer.concat(value.values.map(encode)));

interface Read {
  readonly value: DerValue;
  readonly end: number;
}

const read = (bytes: Buffer, start: number): Read => {
  const tag = bytes[start] ?? 0;
  const first = bytes[start + 1] ?? 0;
  const more = first < 0x80 ? 0 : first & 0x7f;
  const size = more === 0 ? first : bytes.readUIntBE(start + 2, more);
  const from = start + 2 + more;
  const content = bytes.subarray(from, from + size);
  const value = (tag & 0x20) === 0 ? { tag, content } : { tag, values: readAll(content) };
  return { value, end: from + size };
};

const readAll = (bytes: Buffer): DerValue[] => {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const { value, end } = read(bytes, at);
    values.push(value);
    at = end;
  }
  return values;
};

const parse = (der: Buffer): DerValue => read(der, 0).value;

export const children = (der: Buffer): readonly DerValue[] => {
  const value = parse(der);
  return "values" in value ? value.values : [];
};

const count = (value: DerValue): number =>
  1 + ("values" in value ? value.values.reduce((sum, child) => sum + count(child), 0) : 0);

/** The value with one descendant, by its number in reading order, replaced by other bytes. */
const withReplaced = (value: DerValue, number: number, replace: (found: DerValue) => Buffer): Buffer => {
  if (number === 0) return replace(value);
  if ("content" in value) return encode(value);
  let left = number - 1;
  const parts = value.values.map((child) => {
    const size = count(child);
    const here = left >= 0 && left < size ? withReplaced(child, left, replace) : encode(child);
    left -= size;
    return here;
  });
  return element(value.tag, Buffer.concat(parts));
};

const contentOf = (value: DerValue): Buffer =>
  "content" in value ? value.content : Buffer.concat(value.values.map(encode));

const nested = (depth: number): Buffer => {
  let bytes: Buffer = Buffer.of(5, 0);
  for (let level = 0; level < depth; level += 1) bytes = element(0x30, bytes);
  return bytes;
};

const TAGS = [
  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x17, 0x18, 0x1f, 0x24, 0x30, 0x31, 0x80, 0xa0, 0xa3,
  0xff,
];

/** Mutations of a value, by name. Each returns the bytes that replace the value. */
const OPERATIONS: Readonly<Record<string, (value: DerValue, dice: Dice) => Buffer>> = {
  "deletes a value": () => Buffer.alloc(0),
  "doubles a value": (value) => Buffer.concat([encode(value), encode(value)]),
  "empties a value": (value) => element(value.tag, Buffer.alloc(0)),
  "changes a tag": (value, dice) => element(dice.pick(TAGS), contentOf(value)),
  "changes a content's byte": (value, dice) => {
    const content = Buffer.from(contentOf(value));
    const at = dice.number(Math.max(1, content.length));
    if (content.length > 0) content[at] = (content[at] ?? 0) ^ (1 << dice.number(8));
    return element(value.tag, content);
  },
  "replaces a content": (value, dice) =>
    element(value.tag, dice.bytes(dice.pick([1, 2, 3, 4, 9, 33, 127, 128, 300]))),
  "writes a length longer than needed": (value) => {
    const content = contentOf(value);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(content.length);
    return Buffer.concat([Buffer.of(value.tag, 0x84), size, content]);
  },
  "writes a wrong length": (value, dice) =>
    Buffer.concat([
      Buffer.of(value.tag),
      length(Math.max(0, contentOf(value).length + dice.pick([-1, 1, 2, 100, 60_000]))),
      contentOf(value),
    ]),
  "writes a length of four gigabytes": (value) =>
    Buffer.concat([Buffer.of(value.tag, 0x84, 0xff, 0xff, 0xff, 0xff), contentOf(value)]),
  "nests deeply": (_, dice) => nested(dice.pick([8, 64, 400, 1_500])),
};

/** Mutates one random value; the lengths of the values around it are adjusted or left as they were. */
export const operate = (der: Buffer, dice: Dice): { readonly bytes: Buffer; readonly name: string } => {
  const value = parse(der);
  const name = dice.pick(Object.keys(OPERATIONS));
  const operation = OPERATIONS[name];
  if (operation === undefined) throw new Error(`There is no operation ${name}.`);
  const bytes = withReplaced(value, dice.number(count(value)), (found) => operation(found, dice));
  return { bytes, name };
};
