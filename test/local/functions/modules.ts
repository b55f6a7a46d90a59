import { fileURLToPath } from "node:url";

/** The service's stack with functions that the tests control. */
export const FUNCTIONS_APP = fileURLToPath(new URL("../functions-app.ts", import.meta.url));

/** Module that stands in for a function: one for the authorizer, one for all endpoints, one for all schedules. */
export const standInOf = (entry: string): string =>
  fileURLToPath(new URL(entry.replace(/s\/.*/, ".ts"), import.meta.url));
