import { LIMITS } from "../../lib/contract/schemas.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { BOUNDS, findExcess, readRequestBody } from "../../functions/http/read-request.ts";

const MEGABYTE = 1024 * 1024;

const encoded = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64");
const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);
const listOf = (values: number, value = "0"): string => `[${Array(values).fill(value).join(",")}]`;

/** A body as it is read, or the issues for which it is refused. */
const read = (body: string, isBase64Encoded = false, mostBytes?: number): unknown => {
  try {
    return readRequestBody({ body, isBase64Encoded }, mostBytes);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "INVALID_REQUEST") return error.issues;
    throw error;
  }
};

const TOO_DEEP = [{ path: "", message: "must not nest deeper than 16" }];
const TOO_MANY = [{ path: "", message: "must not hold more than 4096 values" }];
const NOT_JSON = [{ path: "", message: "The body is not JSON." }];

describe("a body too deep or with too many values is refused early:", () => {
  test.each([
    ["lists", "[".repeat(5 * MEGABYTE), "depth", BOUNDS.depth],
    ["lists in objects", '[{"a":'.repeat(MEGABYTE), "depth", (BOUNDS.depth / 2) * 6],
    ["empty lists", `[${"[],".repeat(MEGABYTE)}`, "values", (BOUNDS.values / 2) * 3],
    ["names", `{${'"a":0,'.repeat(MEGABYTE)}`, "values", BOUNDS.values * 6],
  ])("%s", (_, body, bound, position) => {
    expect(findExcess(body)).toEqual({ bound, position });
    expect(read(body)).toEqual(bound === "depth" ? TOO_DEEP : TOO_MANY);
  });
});

describe("a body within the bounds is read:", () => {
  test.each([
    ["lists of the greatest depth", nested(BOUNDS.depth), nested(BOUNDS.depth + 1), TOO_DEEP],
    ["the greatest number of values", listOf(BOUNDS.values), listOf(BOUNDS.values + 1), TOO_MANY],
  ])("%s; one more is refused", (_, within, over, issues) => {
    expect(read(within)).toEqual(JSON.parse(within));
    expect(read(over)).toEqual(issues);
  });
  test("the largest request that the contract allows is far below the bounds", () => {
    const body = {
      signedAppTransaction: "a".repeat(LIMITS.jwsBytes),
      signedTransactions: Array.from({ length: LIMITS.signedTransactions }, () => "b".repeat(5_000)),
      signedRenewalInfos: Array.from({ length: 100 }, () => "c".repeat(5_000)),
      applicationAccountIdentifier: "d".repeat(256),
    };
    expect(read(JSON.stringify(body, null, 2))).toEqual(body);
    expect(2 * (1_100 + 5)).toBeLessThan(BOUNDS.values);
  });
  test.each([
    ["brackets and commas", `{"a":"${"[{,".repeat(MEGABYTE)}"}`],
    ["brackets in a name", `{"${"[".repeat(MEGABYTE)}":1}`],
    ["brackets after an escaped quote", `{"a":"\\"${"[".repeat(MEGABYTE)}"}`],
    ["brackets after backslashes and a quote", `{"a":"\\\\\\"${"[".repeat(MEGABYTE)}"}`],
    ["white space", `{${" \n\t\r".repeat(MEGABYTE)}"a":1}`],
    ["one number", `{"a":${"7".repeat(MEGABYTE)}}`],
  ])("long texts, names and numbers do not count as nesting: %s", (_, body) => {
    expect(read(body)).toEqual(JSON.parse(body));
  });
  test("brackets after a text that ends with a backslash count", () => {
    expect(read('["\\\\",[' + "[".repeat(17))).toEqual(TOO_DEEP);
  });
});

describe("a body that is not JSON is refused as such:", () => {
  test.each([
    ["nothing", ""],
    ["an unterminated text", `"${"[".repeat(100)}`],
    ["a text whose closing quote is escaped", '["\\"'],
    ["closing brackets", "]".repeat(5 * MEGABYTE)],
    ["only white space", " ".repeat(MEGABYTE)],
    ["a byte order mark", "\ufeff{}"],
  ])("%s", (_, body) => {
    expect(findExcess(body)).toBeNull();
    expect(read(body)).toEqual(NOT_JSON);
  });
});

describe("a body with a limit", () => {
  const TOO_LARGE = [{ path: "", message: "must be at most 10 bytes" }];
  test.each([
    ["is read at it", '"12345678"', "12345678"],
    ["is refused above it", '"123456789"', TOO_LARGE],
    ["is measured in bytes", '"éééé"', "éééé"],
    ["is refused where its characters take more", '"ééééé"', TOO_LARGE],
    ["is refused before it is read", "[[[[[[[[[[[", TOO_LARGE],
  ])("%s", (_, body, answer) => {
    expect(read(body, false, 10)).toEqual(answer);
    expect(read(encoded(body), true, 10)).toEqual(answer);
  });
});

describe("a body in base64", () => {
  test("is decoded as UTF-8", () => {
    expect(read(encoded('{"a":"é😀"}'), true)).toEqual({ a: "é😀" });
  });
  test("has the same bounds", () => {
    expect(read(encoded("[".repeat(MEGABYTE)), true)).toEqual(TOO_DEEP);
  });
  test.each([
    ["an invalid byte", [0xff]],
    ["half a character", [0xc3]],
    ["half of a surrogate pair", [0xed, 0xa0, 0x80]],
  ])("with %s is refused, so that two accounts never become one", (_, bytes) => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(read(encoded(body), true)).toEqual(NOT_JSON);
  });
});
