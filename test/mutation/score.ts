import type { schema } from "@stryker-mutator/api/core";

const NOTICED = new Set<schema.MutantStatus>(["Killed", "Timeout", "RuntimeError"]);
const UNNOTICED = new Set<schema.MutantStatus>(["Survived", "NoCoverage"]);

/** Counts the changes of Stryker's report; those that no test noticed as text. */
export const scoreOf = ({
  files,
}: schema.MutationTestResult): { readonly noticed: number; readonly unnoticed: readonly string[] } => {
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
