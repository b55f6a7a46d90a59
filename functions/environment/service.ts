import { observer } from "../observability/observe.ts";
import { now } from "./configuration.ts";
import { table } from "./table.ts";

/** Table, clock and metrics of a use case. */
export const service = { table, now, observer };
