import type { Chart } from "./charts.ts";

/** A part of the report: its text, and the charts that it shows by name. */
export interface Section {
  readonly text: string;
  readonly charts: Readonly<Record<string, Chart>>;
}
