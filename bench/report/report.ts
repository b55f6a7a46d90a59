import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import type { Results, SectionRun } from "../results.ts";
import { coldStartSection } from "./cold-start.ts";
import { costSection } from "./cost-section.ts";
import { goalsSection } from "./goals.ts";
import { hostileSection } from "./hostile.ts";
import { loadSection } from "./load.ts";
import { notificationsSection } from "./notifications.ts";
import { readingSection } from "./reading.ts";
import { refreshesSection } from "./refreshes.ts";
import { storingSection } from "./storing.ts";
import { tellingSection } from "./telling.ts";
import { verificationSection } from "./verification.ts";
import { READING_THE_FIGURES } from "./reading-the-figures.ts";

const DOCS = new URL("../../docs/", import.meta.url);

const machineOf = ({ machine: { processors, model, node } }: SectionRun): string =>
  `${processors} processors (${model}), Node ${node}`;
const dayOf = ({ at }: SectionRun): string => at.slice(0, 10);

/** The machines and days of all sections, and the sections of each where they are not the same for all. */
const whereAndWhen = ({ runs }: Results): string => {
  const all = Object.entries(runs);
  const groups = Map.groupBy(all, ([, run]) => `${machineOf(run)}, ${dayOf(run)}`);
  return [...groups]
    .map(([run, sections]) =>
      sections.length === all.length ? run : `${run}: ${sections.map(([name]) => name).join(", ")}`,
    )
    .join("; ");
};

const introduction = (results: Results): string => `# Performance

\`npm run bench\` writes this report, each section measured on one machine, and keeps the figures in
\`bench/results.json\`. Measured with DynamoDB Local in memory on the same processors: ${whereAndWhen(results)}.

Compared sides alternate in rounds of one run. Tables show medians; ratios are medians of the rounds' ratios. Times are
those of their machine, and no test asserts them. \`test/bench/counts.test.ts\` asserts what cannot vary: requests to DynamoDB,
capacity units, signature checks, bundle bytes.
`;

export const writeReport = async (results: Results): Promise<void> => {
  const sections: readonly string[] = [
    verificationSection(results.verification),
    hostileSection(results.hostile),
    storingSection(results.storing),
    readingSection(results.reading),
    notificationsSection(results.notifications),
    refreshesSection(results),
    tellingSection(results),
    coldStartSection(results.coldStart),
    loadSection(results.load),
    costSection(results),
  ];
  const text = [introduction(results), goalsSection(results), ...sections, READING_THE_FIGURES].join("\n\n");
  await writeFormatted(fileURLToPath(new URL("performance.md", DOCS)), text);
};

/** Writes a file, formatted by the project's formatter. */
export const writeFormatted = async (file: string, text: string): Promise<void> => {
  const options = await resolveConfig(file);
  writeFileSync(file, await format(text, { ...options, filepath: file }));
};
