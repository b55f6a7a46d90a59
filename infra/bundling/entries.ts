import { endpoints } from "../../lib/contract/endpoints.ts";

/** Modules under `functions/` that export `handler`, by function name. */
export const ENTRIES: Readonly<Record<string, string>> = {
  "authorize-credential": "authorize-credential.ts",
  ...Object.fromEntries(
    Object.values(endpoints).map(({ function: name }) => [name, `endpoints/${name}.ts`] as const),
  ),
  "acknowledge-due-purchases": "schedules/acknowledge-due-purchases.ts",
  "watch-notifications": "schedules/watch-notifications.ts",
};

/** Path of a function's module, relative to `functions/`. */
export const entryOf = (name: string): string => {
  const entry = ENTRIES[name];
  if (entry === undefined) throw new RangeError(`There is no function ${name}.`);
  return entry;
};
