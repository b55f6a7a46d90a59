import { fileURLToPath } from "node:url";
import { SCHEDULED_NAMES } from "../../../infra/other-functions.ts";

/** The service's stack with functions that the tests control. */
export const FUNCTIONS_APP = fileURLToPath(new URL("../functions-app.ts", import.meta.url));

const fileOf = (name: string): string => {
  if (name === "authorize-credential") return "authorize-credential.ts";
  return SCHEDULED_NAMES.has(name) ? "schedule.ts" : "endpoint.ts";
};

/** Module that stands in for a function: one for the authorizer, one for all endpoints, one for all schedules. */
export const standInOf = (name: string): string => fileURLToPath(new URL(fileOf(name), import.meta.url));
