/** Strict readings of what a JWS is made of. Each gives null where another reading would be possible. */

/** The bytes of a text that is their one canonical encoding: no whitespace, no foreign alphabet, no stray bits. */
export const decodeCanonical = (text: string, encoding: "base64" | "base64url"): Buffer | null => {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : null;
};

export type JsonObject = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** In JSON that parses: a string, with the colon that makes it a key, or a bracket. */
const KEY_OR_BRACKET = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g;

/** Iterative, so that deep nesting cannot exhaust the stack. */
const hasDuplicateKey = (json: string): boolean => {
  const open: (Set<string> | null)[] = [];
  for (const [token, text, colon] of json.matchAll(KEY_OR_BRACKET)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (text === undefined) open.pop();
    else if (colon !== undefined) {
      const keys = open.at(-1);
      const key = String(JSON.parse(text));
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
};

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * A JSON object in UTF-8 in which no object, at any depth, names a member twice: parsers disagree on which of the two
 * counts (RFC 8259, 4; RFC 7515, 10.12).
 */
export const parseJsonObject = (bytes: Uint8Array): JsonObject | null => {
  try {
    const json = utf8.decode(bytes);
    const value: unknown = JSON.parse(json);
    return isObject(value) && !hasDuplicateKey(json) ? value : null;
  } catch {
    return null;
  }
};
