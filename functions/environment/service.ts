import { observer } from "../observability/observe.ts";
import { now } from "./configuration.ts";
import { table } from "./table.ts";

export const service = { table, now, observer };
