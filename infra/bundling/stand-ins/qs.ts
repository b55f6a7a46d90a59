type Value = string | number | boolean | null | undefined;

/** All but what no address has to escape (RFC 3986, 2.3). */
const encoded = (value: Value): string =>
  encodeURIComponent(String(value ?? "")).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Takes the place of `qs`, of which Google's client uses this alone, to write the query of an address: lists as their
 * members one after the other, what is undefined not at all.
 */
export const stringify = (query: Readonly<Record<string, Value | readonly Value[]>>): string =>
  Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((member) => [name, member] as const))
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${encoded(name)}=${encoded(member)}`)
    .join("&");
