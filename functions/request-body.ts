import { isUtf8 } from "node:buffer";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { ServiceError } from "../lib/contract/errors.ts";

/**
 * Bounds of a body's JSON. Five megabytes of brackets are five kilobytes on the wire and take half a second of a
 * processor to parse, so they are counted first. The contract nests two deep and lists some 1,100 values; the rest is room for members
 * that are not known here. Not bounded, because they cost less than honest JWS of the same size: long texts, names and
 * numbers, and white space.
 */
export const BOUNDS = { depth: 16, values: 4_096 } as const;

/** Where a body goes over a bound, and over which one. */
export interface Excess {
  readonly position: number;
  readonly bound: keyof typeof BOUNDS;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where the text ends that begins at this quote: at its closing one, or at the end of all. */
const endOfText = (json: string, start: number): number => {
  let end = start;
  for (;;) {
    end = json.indexOf('"', end + 1);
    if (end === -1) return json.length;
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
};

/**
 * The first place at which this goes over a bound; null where it does not. What is no JSON is not found out here.
 * It walks once, jumps over texts, and stops where the bound is passed. A value counts by what stands before it, an
 * opening bracket or a comma.
 */
export const findExcess = (json: string): Excess | null => {
  let depth = 0;
  let values = 0;
  for (let position = 0; position < json.length; position += 1) {
    switch (json.charCodeAt(position)) {
      case QUOTE:
        position = endOfText(json, position);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        if (depth > BOUNDS.depth) return { position, bound: "depth" };
        if (values > BOUNDS.values) return { position, bound: "values" };
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (values > BOUNDS.values) return { position, bound: "values" };
        break;
    }
  }
  return null;
};

const MESSAGES: Record<keyof typeof BOUNDS, string> = {
  depth: `must not nest deeper than ${BOUNDS.depth}`,
  values: `must not hold more than ${BOUNDS.values} values`,
};

const invalid = (message: string): ServiceError =>
  new ServiceError("INVALID_REQUEST", { issues: [{ path: "", message }] });

const NOT_JSON = "The body is not JSON.";

const textOf = ({
  body,
  isBase64Encoded,
}: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">): string => {
  if (!isBase64Encoded) return body ?? "";
  const bytes = Buffer.from(body ?? "", "base64");
  // Decoding would put one character in the place of all that is none, and make two names one.
  if (!isUtf8(bytes)) throw invalid(NOT_JSON);
  return bytes.toString("utf8");
};

/**
 * What the body of a request says.
 *
 * @throws ServiceError `INVALID_REQUEST` where it is not JSON in UTF-8, or over a bound
 */
export const readRequestBody = (event: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">): unknown => {
  const text = textOf(event);
  const excess = findExcess(text);
  if (excess !== null) throw invalid(MESSAGES[excess.bound]);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(NOT_JSON);
  }
};
