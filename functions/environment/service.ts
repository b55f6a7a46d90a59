import { observer } from "../observability/observe.ts";
import { now, requiredVariable } from "./configuration.ts";
import { openTable } from "./open-table.ts";

export const table = openTable(requiredVariable("TABLE_NAME"));

export const service = { table, now, observer };
