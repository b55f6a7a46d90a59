import type { Choices } from "./choices.ts";

/** JSON as text, because no JavaScript value has duplicate members or numbers of any size. */
export type Json = string;

export const json = (value: unknown): Json => JSON.stringify(value);

const deep = (open: string, close: string, depth: number, within = ""): Json =>
  open.repeat(depth) + within + close.repeat(depth);

const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "then",
  "length",
  "toJSON",
  "",
  "\u0000",
  "#pk",
  ":version",
];

const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "5e-324",
  "9007199254740993",
  "8640000000000000",
  "8640000000000001",
  "253402300800000",
  "123456789012345678901234567890123456789012345678901234567890",
  "0.1",
  "1E2",
];

const ODD_TEXTS = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\n",
  "\u007f",
  "\u0085",
  "\u200b",
  "\u202e",
  "\ufeff",
  "\uffff",
  "%00",
  "%2e%2e%2f",
  "../../etc/passwd",
  "..",
  ".",
  "#",
  "APPLICATION#x",
  "$context.path",
  "${7*7}",
  "' OR 1=1 --",
  "<script>",
  "null",
  "é",
  "e\u0301",
  "😀",
  "İ",
  "ﬁ",
];

/** Half of a surrogate pair as JSON escapes it; valid Unicode text cannot hold it. */
const LONE_SURROGATES = ['"\\ud800"', '"\\udfff"', '"a\\ud83d"', '"\\ude00\\ud83d"'];

/** A hostile JSON string. */
export const hostileText = (choices: Choices): Json => {
  switch (choices.number(6)) {
    case 0:
      return json(choices.pick(ODD_TEXTS));
    case 1:
      return choices.pick(LONE_SURROGATES);
    case 2:
      return json("x".repeat(choices.pick([255, 256, 257, 1024, 4096, 4097, 32_768, 32_769, 70_000])));
    case 3:
      return json("😀".repeat(choices.pick([128, 255, 256, 257, 2_000])));
    case 4:
      return json(choices.text('abc%./#?&=+ é\u0000\\"😀', choices.number(40)));
    default:
      return json(choices.pick(NAMES));
  }
};

/** A hostile JSON value. */
export const hostileValue = (choices: Choices): Json => {
  switch (choices.number(10)) {
    case 0:
      return choices.pick(["null", "true", "false"]);
    case 1:
      return choices.pick(NUMBERS);
    case 2:
      return choices.pick(["[]", "{}", "[null]", '[""]', '{"0":""}', '{"length":3}', "[[]]"]);
    case 3: {
      const depth = choices.pick([2, 20, 200, 2_000, 6_000]);
      return choices.percent(50) ? deep("[", "]", depth) : deep('{"a":', "}", depth, "1");
    }
    case 4: {
      const name = json(choices.pick(NAMES));
      return `{${name}:${choices.pick(['{"admin":true}', "null", '"x"', "1"])}}`;
    }
    case 5:
      return `[${Array.from({ length: choices.pick([2, 50, 1_000, 1_001]) }, () => choices.pick(['""', "null", "1"])).join(",")}]`;
    case 6:
      return `{${Array.from({ length: choices.pick([2, 50, 1_000]) }, (_, index) => `${json(`k${index}`)}:0`).join(",")}}`;
    default:
      return hostileText(choices);
  }
};

export type Members = readonly (readonly [name: string, value: Json])[];

export const objectOf = (members: Members): Json =>
  `{${members.map(([name, value]) => `${json(name)}:${value}`).join(",")}}`;

const replaceAt = <T>(values: readonly T[], index: number, ...by: readonly T[]): T[] =>
  values.toSpliced(index, 1, ...by);

/** The members after one change: another value, another name, one more, one fewer, or one twice. */
export const mutateMembers = (members: Members, choices: Choices): Members => {
  const at = choices.number(members.length);
  const [name = "", value = "null"] = members[at] ?? [];
  switch (choices.number(12)) {
    case 0:
      return members.toSpliced(at, 1);
    case 1:
      return [...members, [name, hostileValue(choices)]];
    case 2:
      return [[name, hostileValue(choices)], ...members];
    case 3:
      return [...members, [choices.pick(NAMES), hostileValue(choices)]];
    case 4:
      return replaceAt(members, at, [choices.pick([name.toUpperCase(), `${name} `, `${name}\u0000`]), value]);
    default:
      return replaceAt(members, at, [name, hostileValue(choices)]);
  }
};

/** The text after a change, which may make it invalid JSON or JSON of another shape. */
export const mutateText = (text: Json, choices: Choices): Buffer => {
  const at = choices.number(text.length);
  const bytes = Buffer.from(text);
  switch (choices.number(14)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes, choices.pick([bytes, Buffer.from("}"), Buffer.from(" x")])]);
    case 2:
      return Buffer.concat([Buffer.from("\ufeff"), bytes]);
    case 3:
      return Buffer.from(`[${text}]`);
    case 4:
      return Buffer.from(json(text));
    case 5:
      return Buffer.alloc(0);
    case 6:
      return choices.bytes(choices.number(300));
    case 7:
      return Buffer.from(text, "utf16le");
    case 8:
      return Buffer.concat([
        bytes.subarray(0, at),
        choices.pick([Buffer.of(0xff), Buffer.of(0xc0, 0x80), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0)]),
        bytes.subarray(at),
      ]);
    case 9:
      return Buffer.from(choices.pick(["null", "0", '""', "[]", "true", "NaN", "{", "undefined", "'{}'"]));
    case 10:
      return Buffer.from(deep("[", "]", choices.pick([1_000, 20_000, 100_000])));
    case 11:
      return Buffer.from(deep('{"a":', "}", choices.pick([1_000, 20_000]), "1"));
    case 12:
      return Buffer.from(text.replaceAll(",", " ,\n\t "));
    default: {
      const changed = Buffer.from(bytes);
      changed[at] = choices.number(256);
      return changed;
    }
  }
};
