import { openTable } from "./open-table.ts";
import { requiredVariable } from "./configuration.ts";

/** The service's one table. */
export const table = openTable(requiredVariable("TABLE_NAME"));
