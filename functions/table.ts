import { openTable } from "../lib/service.ts";
import { requiredVariable } from "./configuration.ts";

/** The service's one table. */
export const table = openTable(requiredVariable("TABLE_NAME"));
