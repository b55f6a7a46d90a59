import type { Choices } from "./choices.ts";

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
export const hostileText = (choices: Choices): Json =>
  choices.pick([
    json(choices.pick(ODD_TEXTS)),
    choices.pick(LONE_SURROGATES),
    json("x".repeat(choices.pick([255, 256, 257, 1024, 4096, 4097, 32_768, 32_769, 70_000]))),
    json("😀".repeat(choices.pick([128, 255, 256, 257, 2_000]))),
    json(choices.text('abc%./#?&=+ é\u0000\\"😀', choices.number(40))),
    json(choices.pick(NAMES)),
  ]);

/** A hostile JSON value. */
export const hostileValue = (choices: Choices): Json => {
  const depth = choices.pick([2, 20, 200, 2_000, 6_000]);
  const many = Array.from({ length: choices.pick([2, 50, 1_000, 1_001]) }, (_, index) => index);
  return choices.pick([
    choices.pick(["null", "true", "false"]),
    choices.pick(NUMBERS),
    choices.pick(["[]", "{}", "[null]", '[""]', '{"0":""}', '{"length":3}', "[[]]"]),
    deep("[", "]", depth),
    deep('{"a":', "}", depth, "1"),
    `{${json(choices.pick(NAMES))}:${choices.pick(['{"admin":true}', "null", '"x"', "1"])}}`,
    json(many.map(() => choices.pick(["", null, 1]))),
    json(Object.fromEntries(many.map((index) => [`k${index}`, 0]))),
    hostileText(choices),
    hostileText(choices),
    hostileText(choices),
  ]);
};

export type Members = readonly (readonly [name: string, value: Json])[];

export const objectOf = (members: Members): Json =>
  `{${members.map(([name, value]) => `${json(name)}:${value}`).join(",")}}`;

/** The members after one change: another value, another name, one more, one fewer, or one twice. */
export const mutateMembers = (members: Members, choices: Choices): Members => {
  const at = choices.number(members.length);
  const [name = "", value = "null"] = members[at] ?? [];
  const hostile = hostileValue(choices);
  const replaced = (by: Members): Members => members.toSpliced(at, 1, ...by);
  return choices.pick<Members>([
    replaced([]),
    [...members, [name, hostile]],
    [[name, hostile], ...members],
    [...members, [choices.pick(NAMES), hostile]],
    replaced([[choices.pick([name.toUpperCase(), `${name} `, `${name}\u0000`]), value]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
    replaced([[name, hostile]]),
  ]);
};

/** The text after a change, which may make it invalid JSON or JSON of another shape. */
export const mutateText = (text: Json, choices: Choices): Buffer => {
  const bytes = Buffer.from(text);
  const at = choices.number(bytes.length);
  const between = (within: Uint8Array): Buffer =>
    Buffer.concat([bytes.subarray(0, at), within, bytes.subarray(at)]);
  const invalid = choices.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0]]);
  const values = ["null", "0", '""', "[]", "true", "NaN", "{", "undefined", "'{}'"];
  return Buffer.from(
    choices.pick<string | Buffer>([
      bytes.subarray(0, at),
      Buffer.concat([bytes, choices.pick([bytes, Buffer.from("}")])]),
      `\ufeff${text}`,
      `[${text}]`,
      json(text),
      "",
      choices.bytes(choices.number(300)),
      Buffer.from(text, "utf16le"),
      between(Buffer.from(invalid)),
      between(choices.bytes(1)),
      choices.pick(values),
      deep("[", "]", choices.pick([1_000, 20_000, 100_000])),
      deep('{"a":', "}", choices.pick([1_000, 20_000]), "1"),
      text.replaceAll(",", " ,\n\t "),
    ]),
  );
};
