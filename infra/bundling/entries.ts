import { endpoints } from "../../lib/contract/endpoints.ts";

/** Modules under `functions/` that export a `handler`, by the name of their function. */
export const ENTRIES: Readonly<Record<string, string>> = {
  "authorize-credential": "authorize-credential.ts",
  ...Object.fromEntries(
    Object.values(endpoints).map(({ function: name }) => [name, `endpoints/${name}.ts`] as const),
  ),
  "acknowledge-due-purchases": "schedules/acknowledge-due-purchases.ts",
};

/** The module of a function, relative to the folder `functions/`. */
export const entryOf = (name: string): string => {
  const entry = ENTRIES[name];
  if (entry === undefined) throw new RangeError(`There is no function ${name}.`);
  return entry;
};
