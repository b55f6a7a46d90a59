import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import type { Results } from "../results.ts";
import { bundledGoalsOf, goalsOf, startGoalsOf } from "./goals.ts";

const PAGE = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));

const table = (rows: readonly (readonly string[])[]): string => {
  const [head = [], ...others] = rows;
  return [head, head.map(() => "---"), ...others].map((row) => `| ${row.join(" | ")} |`).join("\n");
};

const met = (isMet: boolean): string => (isMet ? "yes" : "**no**");

/** Machines and days of the sections; usually one. */
const whereAndWhen = ({ runs }: Results): string =>
  [
    ...new Set(
      Object.values(runs).map(
        ({ at, machine: { processors, model, node } }) =>
          `${processors} processors (${model}), Node.js ${node}, ${at.slice(0, 10)}`,
      ),
    ),
  ].join("; ");

/** The page for somebody who asks which goals are met: at most 400 words. */
export const pageOf = (results: Results): string => `# Performance

\`npm run bench\` measures in half an hour, prints its tables, keeps the figures in \`bench/results.json\` and writes this page.
DynamoDB Local runs on the same processors. Measured on: ${whereAndWhen(results)}.

A machine's speed changes from hour to hour, so goals are ratios of one run. No test asserts a time.
\`test/bench/\` asserts what cannot vary: requests, capacity units, signature checks, bundle sizes.

## Goals

${table([
  ["Goal", "Wanted", "Measured", "Met"],
  ...[...goalsOf(results), ...bundledGoalsOf(results)].map(({ goal, wanted, measured, isMet }) => [
    goal,
    wanted,
    measured,
    met(isMet),
  ]),
])}

## Cold start

Multiples of the DynamoDB document client's own load and first answer.

${table([
  ["Function", "Wanted", "Load", "First answer", "Met"],
  ...startGoalsOf(results).map(({ name, wanted, load, answer, isMet }) => [
    `\`${name}\``,
    `≤ ${wanted}`,
    load.toFixed(2),
    answer.toFixed(2),
    met(isMet),
  ]),
])}

What misses its goal stays: the rest is the service's own code, which V8 compiles at the first call, and \`zod\`. [Why the bundles
look as they do](decisions/0012-what-a-function-loads.md). \`provisionedConcurrency\` avoids cold starts.
`;

/** Writes a file, formatted by the project's formatter. */
export const writeFormatted = async (file: string, text: string): Promise<void> => {
  const options = await resolveConfig(file);
  writeFileSync(file, await format(text, { ...options, filepath: file }));
};

export const writePage = (results: Results): Promise<void> => writeFormatted(PAGE, pageOf(results));
