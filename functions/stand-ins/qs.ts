type Value = string | number | boolean | null | undefined;

/**
 * Takes the place of `qs`, of which Google's client uses this alone, to write the query of an address: a list is written
 * as its members one after the other, a space as `%20`, and what is not there is left out.
 */
export const stringify = (query: Readonly<Record<string, Value | readonly Value[]>>): string => {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const member of [value].flat())
      if (member !== undefined && member !== null) written.append(name, String(member));
  return written.toString().replaceAll("+", "%20");
};
