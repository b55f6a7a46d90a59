import type { Dice } from "../dice.ts";

/** JSON as text, because no JavaScript value has duplicate members or numbers of any size. */
export type Json = string;

export const json = (value: unknown): Json => JSON.stringify(value);

const deep = (open: string, close: string, depth: number, within = ""): Json =>
  open.repeat(depth) + within + close.repeat(depth);

const NAMES = [..."__proto__ constructor toString then length toJSON #pk :version".split(" "), "", "\u0000"];

const NUMBERS =
  "0 -0 -1 1.5 1e400 -1e400 5e-324 9007199254740993 8640000000000000 8640000000000001 253402300800000 1E2".split(
    " ",
  );

// prettier-ignore
const ODD_TEXTS = [
  "", " ", "a\u0000b", "\n", "\u007f", "\u0085", "\u200b", "\u202e", "\ufeff", "\uffff", "%00", "%2e%2e%2f",
  "../../etc/passwd", "..", "#", "APPLICATION#x", "$context.path", "' OR 1=1 --", "<script>", "null", "e\u0301", "😀", "İ",
];

/** Half of a surrogate pair as JSON escapes it; valid Unicode text cannot hold it. */
const LONE_SURROGATES = ['"\\ud800"', '"a\\ud83d"', '"\\ude00\\ud83d"'];

/** A hostile JSON string. */
export const hostileText = (dice: Dice): Json =>
  dice.pick([
    json(dice.pick(ODD_TEXTS)),
    dice.pick(LONE_SURROGATES),
    json("x".repeat(dice.pick([255, 256, 257, 1024, 4096, 4097, 32_768, 32_769, 70_000]))),
    json("😀".repeat(dice.pick([128, 255, 256, 257, 2_000]))),
    json(dice.text('abc%./#?&=+ é\u0000\\"😀', dice.number(40))),
    json(dice.pick(NAMES)),
  ]);

/** A hostile JSON value. */
export const hostileValue = (dice: Dice): Json => {
  const depth = dice.pick([2, 20, 200, 2_000, 6_000]);
  const many = Array.from({ length: dice.pick([2, 50, 1_000, 1_001]) }, (_, index) => index);
  return dice.pick([
    dice.pick(["null", "true", "false"]),
    dice.pick(NUMBERS),
    dice.pick(["[]", "{}", "[null]", '[""]', '{"0":""}', '{"length":3}', "[[]]"]),
    deep("[", "]", depth),
    deep('{"a":', "}", depth, "1"),
    `{${json(dice.pick(NAMES))}:${dice.pick(['{"admin":true}', "null", '"x"', "1"])}}`,
    json(many.map(() => dice.pick(["", null, 1]))),
    json(Object.fromEntries(many.map((index) => [`k${index}`, 0]))),
    hostileText(dice),
    hostileText(dice),
    hostileText(dice),
  ]);
};

export type Members = readonly (readonly [name: string, value: Json])[];

export const objectOf = (members: Members): Json =>
  `{${members.map(([name, value]) => `${json(name)}:${value}`).join(",")}}`;

/** The members after one change: another value, another name, one more, one fewer, or one twice. */
export const mutateMembers = (members: Members, dice: Dice): Members => {
  const at = dice.number(members.length);
  const [name = "", value = "null"] = members[at] ?? [];
  const hostile = hostileValue(dice);
  const replaced = (by: Members): Members => members.toSpliced(at, 1, ...by);
  return dice.pick<Members>([
    replaced([]),
    [...members, [name, hostile]],
    [[name, hostile], ...members],
    [...members, [dice.pick(NAMES), hostile]],
    replaced([[dice.pick([name.toUpperCase(), `${name} `, `${name}\u0000`]), value]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
  ]);
};

/** The text after a change, which may make it invalid JSON or JSON of another shape. */
export const mutateText = (text: Json, dice: Dice): Buffer => {
  const bytes = Buffer.from(text);
  const at = dice.number(bytes.length);
  const between = (within: Uint8Array): Buffer =>
    Buffer.concat([bytes.subarray(0, at), within, bytes.subarray(at)]);
  const invalid = dice.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0]]);
  const values = ["null", "0", '""', "[]", "true", "NaN", "{", "undefined", "'{}'"];
  return Buffer.from(
    dice.pick<string | Buffer>([
      bytes.subarray(0, at),
      Buffer.concat([bytes, dice.pick([bytes, Buffer.from("}")])]),
      `\ufeff${text}`,
      `[${text}]`,
      json(text),
      "",
      dice.bytes(dice.number(300)),
      Buffer.from(text, "utf16le"),
      between(Buffer.from(invalid)),
      between(dice.bytes(1)),
      dice.pick(values),
      deep("[", "]", dice.pick([1_000, 20_000, 100_000])),
      deep('{"a":', "}", dice.pick([1_000, 20_000]), "1"),
      text.replaceAll(",", " ,\n\t "),
    ]),
  );
};
