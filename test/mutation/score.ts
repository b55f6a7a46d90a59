import * as z from "zod";
import { EQUIVALENT, type EquivalentChange } from "./equivalent.ts";

const position = z.object({ line: z.number(), column: z.number() });

/** Part of Stryker's report that is read here. Lines and columns count from 1, the end is exclusive. */
export const mutationReport = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.string(),
      mutants: z.array(
        z.object({
          status: z.string(),
          mutatorName: z.string(),
          replacement: z.string().optional(),
          location: z.object({ start: position, end: position }),
        }),
      ),
    }),
  ),
});
export type MutationReport = z.infer<typeof mutationReport>;
type Mutant = MutationReport["files"][string]["mutants"][number];

const NOTICED = new Set(["Killed", "Timeout", "RuntimeError"]);
const UNNOTICED = new Set(["Survived", "NoCoverage"]);

const isOf =
  (source: string, { replacement = "", location: { start, end } }: Mutant) =>
  ({ line, from, to }: EquivalentChange): boolean => {
    const text = source.split("\n")[start.line - 1] ?? "";
    return (
      start.line === end.line &&
      text.trim() === line &&
      text.slice(start.column - 1, end.column - 1) === from &&
      replacement === to
    );
  };

export interface Score {
  readonly noticed: number;
  readonly equivalent: number;
  /** Changes that no test noticed and that are not listed as equivalent, as text. */
  readonly unnoticed: readonly string[];
  /** Entries of the report's files that match no unnoticed change any more, as text. */
  readonly stale: readonly string[];
}

/** Counts the changes of a report; those listed as equivalent apart. */
export const scoreOf = (
  { files }: MutationReport,
  listed: Readonly<Record<string, readonly EquivalentChange[]>> = EQUIVALENT,
): Score => {
  const scores = Object.entries(files).map(([path, { source, mutants }]): Score => {
    const entries = listed[path] ?? [];
    const survivors = mutants.filter(({ status }) => UNNOTICED.has(status));
    const unlisted = survivors.filter((mutant) => !entries.some(isOf(source, mutant)));
    return {
      noticed: mutants.filter(({ status }) => NOTICED.has(status)).length,
      equivalent: survivors.length - unlisted.length,
      unnoticed: unlisted.map(
        ({ location: { start }, mutatorName, replacement = "" }) =>
          `${path}:${start.line}:${start.column} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 80)}`,
      ),
      stale: entries
        .filter((entry) => !survivors.some((mutant) => isOf(source, mutant)(entry)))
        .map(({ line, from, to }) => `${path}: ${from} → ${to} in ${line}`),
    };
  });
  const sum = (countOf: (score: Score) => number) => scores.reduce((all, score) => all + countOf(score), 0);
  return {
    noticed: sum(({ noticed }) => noticed),
    equivalent: sum(({ equivalent }) => equivalent),
    unnoticed: scores.flatMap(({ unnoticed }) => unnoticed),
    stale: scores.flatMap(({ stale }) => stale),
  };
};
