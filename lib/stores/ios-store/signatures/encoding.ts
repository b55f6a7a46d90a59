/** Strict parsers for the parts of a JWS. Each returns null where the input could be read in more than one way. */

/** Decodes the one canonical encoding of its bytes: no whitespace, no other alphabet, no stray bits. */
export const decodeCanonical = (text: string, encoding: "base64" | "base64url"): Buffer | null => {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : null;
};

export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Counts colons outside strings, one per member. Expects valid JSON. */
const countWrittenMembers = (json: string): number => {
  let members = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json.charCodeAt(index);
    if (inString && character === BACKSLASH) index += 1;
    else if (character === QUOTE) inString = !inString;
    else if (character === COLON && !inString) members += 1;
  }
  return members;
};

/** Iterative, so that deep nesting cannot overflow the stack. */
const countMembers = (json: unknown): number => {
  const values = [json];
  let members = 0;
  for (const value of values) {
    if (typeof value !== "object" || value === null) continue;
    const inner: unknown[] = Object.values(value);
    if (!Array.isArray(value)) members += inner.length;
    for (const item of inner) if (typeof item === "object") values.push(item);
  }
  return members;
};

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a JSON object in UTF-8. Parsers disagree on duplicate names (RFC 8259, 4; RFC 7515, 10.12): they are refused. */
export const parseJsonObject = (bytes: Uint8Array): JsonObject | null => {
  try {
    const json = utf8.decode(bytes);
    const value: unknown = JSON.parse(json);
    // The parser keeps only one member of a duplicate name.
    return isObject(value) && countMembers(value) === countWrittenMembers(json) ? value : null;
  } catch {
    return null;
  }
};
