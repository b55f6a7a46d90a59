type Value = string | number | boolean | null | undefined;

/** Percent-encodes everything but RFC 3986's unreserved characters (section 2.3). */
const encoded = (value: Value): string =>
  encodeURIComponent(String(value ?? "")).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Replaces `qs`, of which Google's client uses only this function, to write query strings. A list repeats its name;
 * undefined values are omitted.
 */
export const stringify = (query: Readonly<Record<string, Value | readonly Value[]>>): string =>
  Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((member) => [name, member] as const))
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${encoded(name)}=${encoded(member)}`)
    .join("&");
