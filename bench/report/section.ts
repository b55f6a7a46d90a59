import type { Chart } from "./charts.ts";

/** A section of the report: its text, and its charts by file name. */
export interface Section {
  readonly text: string;
  readonly charts: Readonly<Record<string, Chart>>;
}
