import { isUtf8 } from "node:buffer";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { ServiceError } from "../../lib/contract/errors.ts";

/**
 * Bounds of a body's JSON, checked before parsing: five megabytes of brackets compress to five kilobytes and take half a
 * second of CPU to parse. The contract needs a depth of two and about 1,100 values; unknown members have the rest. Long
 * strings, names, numbers and white space cost less than JWS of the same size.
 */
export const BOUNDS = { depth: 16, values: 4_096 } as const;

interface Excess {
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

/** Position of the quote that closes the JSON string opened at `start`; the body's end if none does. */
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
 * First position at which a body exceeds a bound; null if none. One pass, which skips strings. Opening brackets and
 * commas count as values. Invalid JSON is not detected here.
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

/** @throws ServiceError `INVALID_REQUEST` if the body is not UTF-8 */
export const bodyText = ({
  body,
  isBase64Encoded,
}: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">): string => {
  if (!isBase64Encoded) return body ?? "";
  const bytes = Buffer.from(body ?? "", "base64");
  // Decoding replaces invalid bytes with U+FFFD, which could make two member names equal.
  if (!isUtf8(bytes)) throw invalid(NOT_JSON);
  return bytes.toString("utf8");
};

/**
 * @param mostBytes maximum size of the decoded body; unset: the gateway's limit
 * @throws ServiceError `INVALID_REQUEST` if the body is not JSON in UTF-8, or exceeds a bound
 */
export const readRequestBody = (
  event: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">,
  mostBytes = Infinity,
): unknown => {
  const text = bodyText(event);
  if (Buffer.byteLength(text) > mostBytes) throw invalid(`must be at most ${mostBytes} bytes`);
  const excess = findExcess(text);
  if (excess !== null) throw invalid(MESSAGES[excess.bound]);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(NOT_JSON);
  }
};
