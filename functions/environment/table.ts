import { openTable } from "./open-table.ts";
import { requiredVariable } from "./configuration.ts";

export const table = openTable(requiredVariable("TABLE_NAME"));
