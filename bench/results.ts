import { writeFileSync } from "node:fs";
import { measureColdStart } from "./sections/cold-start.ts";
import { measureHostile } from "./sections/hostile.ts";
import { measureImporting } from "./sections/importing.ts";
import { measureLoad } from "./sections/load.ts";
import { measureReading } from "./sections/reading.ts";
import { measureRefreshes } from "./sections/refreshes.ts";
import { measureStoring } from "./sections/storing.ts";
import { measureTelling } from "./sections/telling.ts";
import { measureVerification } from "./sections/verification.ts";

const MEASURES = {
  verification: measureVerification,
  hostile: measureHostile,
  storing: measureStoring,
  reading: measureReading,
  refreshes: measureRefreshes,
  telling: measureTelling,
  coldStart: measureColdStart,
  load: measureLoad,
  importing: measureImporting,
} as const;

export type Section = keyof typeof MEASURES;
export const SECTIONS = Object.keys(MEASURES) as Section[];

export const isSection = (name: string): name is Section => Object.hasOwn(MEASURES, name);

/** When and where a section was measured. */
export interface SectionRun {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly machine: { readonly processors: number; readonly model: string; readonly node: string };
}

/** Content of `bench/results.json`. */
export type Results = { readonly runs: Readonly<Record<Section, SectionRun>> } & {
  readonly [Name in Section]: Awaited<ReturnType<(typeof MEASURES)[Name]>>;
};

/** Whether every section has been measured. */
export const isComplete = (results: Partial<Results>): results is Results =>
  (["runs", ...SECTIONS] as const).every((part) => results[part] !== undefined);

// Runs one section in this process and writes its result as JSON: `results.ts <section> <file>`.
if (import.meta.main) {
  const [section = "", file = ""] = process.argv.slice(2);
  if (!isSection(section)) throw new RangeError(`There is no section ${section}.`);
  writeFileSync(file, JSON.stringify(await MEASURES[section]()));
  // Open connections of clients would keep the process alive.
  process.exit();
}
