import { endpoints, functionName } from "../../lib/contract/endpoints.ts";
import { SCHEDULED_FUNCTIONS } from "../other-functions.ts";

/** Modules under `functions/` that export `handler`, by function name. */
export const ENTRIES: Readonly<Record<string, string>> = {
  "authorize-credential": "authorize-credential.ts",
  ...Object.fromEntries(
    Object.values(endpoints).map(({ function: name }) => [name, `endpoints/${name}.ts`] as const),
  ),
  ...Object.fromEntries(
    Object.keys(SCHEDULED_FUNCTIONS)
      .map(functionName)
      .map((name) => [name, `schedules/${name}.ts`] as const),
  ),
};
