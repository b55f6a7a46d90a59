import { LIMITS } from "../../lib/contract/schemas.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { BOUNDS, findExcess, readRequestBody } from "../../functions/http/request-body.ts";

const MEGABYTE = 1024 * 1024;

const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);
const listOf = (values: number, value = "0"): string => `[${Array(values).fill(value).join(",")}]`;

const read = (body: string | null, isBase64Encoded = false) => readRequestBody({ body, isBase64Encoded });

/** The issues with which a body is refused. */
const issuesOf = (body: string, isBase64Encoded = false): unknown => {
  try {
    read(body, isBase64Encoded);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "INVALID_REQUEST") return error.issues;
    throw error;
  }
  return "none";
};

const TOO_DEEP = [{ path: "", message: "must not nest deeper than 16" }];
const TOO_MANY = [{ path: "", message: "must not hold more than 4096 values" }];
const NOT_JSON = [{ path: "", message: "The body is not JSON." }];

describe("a body that nests too deep or lists too much is refused, and is not read to its end", () => {
  test.each([
    ["lists", "[".repeat(5 * MEGABYTE), "depth", BOUNDS.depth],
    ["objects", '{"a":'.repeat(MEGABYTE), "depth", BOUNDS.depth * 5],
    ["lists in objects", '[{"a":'.repeat(MEGABYTE), "depth", (BOUNDS.depth / 2) * 6],
    ["empty lists", `[${"[],".repeat(MEGABYTE)}`, "values", (BOUNDS.values / 2) * 3],
    ["numbers", `[${"0,".repeat(MEGABYTE)}`, "values", BOUNDS.values * 2],
    ["names", `{${'"a":0,'.repeat(MEGABYTE)}`, "values", BOUNDS.values * 6],
    ["commas and nothing else", ",".repeat(5 * MEGABYTE), "values", BOUNDS.values],
  ])("%s", (_, body, bound, position) => {
    expect(findExcess(body)).toEqual({ bound, position });
    expect(issuesOf(body)).toEqual(bound === "depth" ? TOO_DEEP : TOO_MANY);
  });
});

describe("a body up to the bounds is read", () => {
  test.each([
    ["as deep as may be", nested(BOUNDS.depth), nested(BOUNDS.depth + 1), TOO_DEEP],
    [
      "objects as deep as may be",
      `${'{"a":'.repeat(16)}1${"}".repeat(16)}`,
      `${'{"a":'.repeat(17)}1`,
      TOO_DEEP,
    ],
    ["as many values as may be", listOf(BOUNDS.values), listOf(BOUNDS.values + 1), TOO_MANY],
  ])("%s; one more is refused", (_, within, over, issues) => {
    expect(read(within)).toEqual(JSON.parse(within));
    expect(issuesOf(over)).toEqual(issues);
  });
  test("a request of all that the contract allows for, as long as it may be, is far within them", () => {
    const body = {
      signedAppTransaction: "a".repeat(LIMITS.jwsBytes),
      signedTransactions: Array.from({ length: LIMITS.signedTransactions }, () => "b".repeat(5_000)),
      signedRenewalInfos: Array.from({ length: 100 }, () => "c".repeat(5_000)),
      applicationAccountIdentifier: "d".repeat(256),
    };
    expect(read(JSON.stringify(body, null, 2))).toEqual(body);
    expect(2 * (1_100 + 5)).toBeLessThan(BOUNDS.values);
  });
  test("members that nobody knows may nest and list a little", () => {
    const body = { context: { device: { screen: { sizes: [[1, 2], [3]] } } }, tags: Array(500).fill("a") };
    expect(read(JSON.stringify(body))).toEqual(body);
  });
  test.each([
    ["brackets and commas", `{"a":"${"[{,".repeat(MEGABYTE)}"}`],
    ["brackets in a name", `{"${"[".repeat(MEGABYTE)}":1}`],
    ["brackets behind a quote that is escaped", `{"a":"\\"${"[".repeat(MEGABYTE)}"}`],
    ["brackets behind backslashes and a quote", `{"a":"\\\\\\"${"[".repeat(MEGABYTE)}"}`],
    ["quotes that are escaped", `{"a":"${'\\"['.repeat(MEGABYTE)}"}`],
    ["letters that are escaped", `{"a":"${"\\u005b".repeat(MEGABYTE)}"}`],
    ["letters that are escaped in a name", `{"${"\\u005b".repeat(MEGABYTE)}":1}`],
    ["halves of pairs", `{"a":"${"\\ud800".repeat(MEGABYTE)}"}`],
    ["white space", `{${" \n\t\r".repeat(MEGABYTE)}"a":1}`],
    ["one number", `{"a":${"7".repeat(MEGABYTE)}}`],
    ["one name many times", `{${Array(4_000).fill('"a":0').join(",")}}`],
    ["nothing but a text", `"${"[".repeat(MEGABYTE)}"`],
  ])("texts, names and numbers are no nesting, however long: %s", (_, body) => {
    expect(read(body)).toEqual(JSON.parse(body));
  });
  test.each([
    ["a text that ends with a backslash", '["\\\\",[', 17, TOO_DEEP],
    ["two of them", '["\\\\","\\\\",[', 17, TOO_DEEP],
  ])("what comes behind %s counts", (_, start, depth, issues) => {
    expect(issuesOf(start + "[".repeat(depth))).toEqual(issues);
  });
});

describe("what is no JSON is refused as such", () => {
  test.each([
    ["nothing", ""],
    ["a text without an end", `"${"[".repeat(100)}`],
    ["a text whose end is escaped", '["\\"'],
    ["closing brackets", "]".repeat(5 * MEGABYTE)],
    ["colons", ":".repeat(5 * MEGABYTE)],
    ["white space and nothing else", " ".repeat(MEGABYTE)],
    ["a lone backslash", "\\"],
    ["a byte order mark", "\ufeff{}"],
  ])("%s", (_, body) => {
    expect(findExcess(body)).toBeNull();
    expect(issuesOf(body)).toEqual(NOT_JSON);
  });
});

describe("a body in base64", () => {
  const encoded = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64");
  test("is read as the UTF-8 that it is", () => {
    expect(read(encoded('{"a":"é😀"}'), true)).toEqual({ a: "é😀" });
  });
  test("has the same bounds", () => {
    expect(issuesOf(encoded("[".repeat(MEGABYTE)), true)).toEqual(TOO_DEEP);
  });
  test.each([
    ["a byte of no character", [0xff]],
    ["half a character", [0xc3]],
    ["an overlong character", [0xc0, 0xaf]],
    ["half of a pair", [0xed, 0xa0, 0x80]],
  ])("with %s is refused, so that no two accounts become one", (_, bytes) => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(issuesOf(encoded(body), true)).toEqual(NOT_JSON);
  });
});
