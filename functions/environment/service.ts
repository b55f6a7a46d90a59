import { observe } from "../observability/observe.ts";
import { now } from "./configuration.ts";
import { table } from "./table.ts";

/** What is wired into the use cases of a function that counts what it does. */
export const service = { table, now, observe };
