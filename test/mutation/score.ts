import * as z from "zod";

const position = z.object({ line: z.number(), column: z.number() });

/** Part of Stryker's report that is read here. Lines and columns count from 1, the end is exclusive. */
export const mutationReport = z.object({
  files: z.record(
    z.string(),
    z.object({
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

const NOTICED = new Set(["Killed", "Timeout", "RuntimeError"]);
const UNNOTICED = new Set(["Survived", "NoCoverage"]);

/** Counts the changes of a report; those that no test noticed as text. */
export const scoreOf = ({
  files,
}: MutationReport): { readonly noticed: number; readonly unnoticed: readonly string[] } => {
  const mutants = Object.entries(files).flatMap(([path, file]) =>
    file.mutants.map((mutant) => ({ path, ...mutant })),
  );
  return {
    noticed: mutants.filter(({ status }) => NOTICED.has(status)).length,
    unnoticed: mutants
      .filter(({ status }) => UNNOTICED.has(status))
      .map(
        ({ path, location: { start }, mutatorName, replacement = "" }) =>
          `${path}:${start.line}:${start.column} ${mutatorName} ${replacement.replaceAll(/\s+/g, " ").slice(0, 80)}`,
      ),
  };
};
