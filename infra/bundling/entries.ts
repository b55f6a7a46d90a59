import { endpoints } from "../../lib/contract/endpoints.ts";

/** Modules under `functions/` that export `handler`, by function name. */
export const ENTRIES: Readonly<Record<string, string>> = {
  "authorize-credential": "authorize-credential.ts",
  ...Object.fromEntries(
    Object.values(endpoints).map(({ function: name }) => [name, `endpoints/${name}.ts`] as const),
  ),
  "acknowledge-due-purchases": "schedules/acknowledge-due-purchases.ts",
  "tell-changes": "schedules/tell-changes.ts",
  "deliver-messages": "schedules/deliver-messages.ts",
  "watch-notifications": "schedules/watch-notifications.ts",
  "refresh-android-store-purchases": "schedules/refresh-android-store-purchases.ts",
  "refresh-ios-store-purchases": "schedules/refresh-ios-store-purchases.ts",
  "sweep-android-store-refunds": "schedules/sweep-android-store-refunds.ts",
  "sweep-ios-store-notifications": "schedules/sweep-ios-store-notifications.ts",
};

/** Path of a function's module, relative to `functions/`. */
export const entryOf = (name: string): string => {
  const entry = ENTRIES[name];
  if (entry === undefined) throw new RangeError(`There is no function ${name}.`);
  return entry;
};
