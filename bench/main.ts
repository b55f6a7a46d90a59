import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeChain, exportChain } from "../sandbox/ios-store/signing.ts";
import { synthesize } from "../local/lambda/assembly.ts";
import { localAwsVariables, startDynamoDb } from "../testing/dynamodb.ts";
import { printSection, writeFormatted, writePage } from "./report.ts";
import { isComplete, isSection, SECTIONS, type Results, type Section, type SectionRun } from "./results.ts";
import { inFolder, run } from "./service.ts";

/**
 * `npm run bench -- [section …]` measures all sections, or those named, each in its own process. It prints their tables,
 * keeps their figures in `bench/results.json` and writes `docs/performance.md`. `npm run bench -- report` measures nothing,
 * and prints and writes what is kept.
 */
const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));
const RUNNER = fileURLToPath(new URL("results.ts", import.meta.url));

const previous = (): Partial<Results> =>
  existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {};

const machine = {
  processors: availableParallelism(),
  model: cpus()[0]?.model ?? "unknown",
  node: process.version,
};

/** The results of the sections, beside the previous ones. */
const measureIn = async (folder: string, sections: readonly Section[]): Promise<Partial<Results>> => {
  const database = await startDynamoDb();
  try {
    const assembly = join(folder, "assembly");
    await synthesize({ folder: assembly });
    const env = {
      ...process.env,
      ...localAwsVariables(database.endpoint),
      BENCH_ASSEMBLY: assembly,
      BENCH_CHAIN: exportChain(makeChain()),
    };
    const runs: Record<string, SectionRun> = { ...previous().runs };
    const measured: Record<string, unknown> = {};
    for (const section of sections) {
      const file = join(folder, `${section}.json`);
      const start = performance.now();
      runs[section] = { at: new Date().toISOString(), machine };
      const running = run(process.execPath, [RUNNER, section, file], { env, maxBuffer: 1 << 28 });
      running.child.stderr?.pipe(process.stderr);
      await running;
      measured[section] = JSON.parse(readFileSync(file, "utf8"));
      process.stdout.write(`${section}: ${((performance.now() - start) / 1000).toFixed(0)} s\n`);
    }
    return Object.assign(previous(), measured, { runs });
  } finally {
    await database.stop();
  }
};

const report = async (sections: readonly Section[]): Promise<void> => {
  const results = previous();
  for (const section of sections) {
    const result = results[section];
    if (result !== undefined) printSection(section, result);
  }
  if (!isComplete(results)) {
    process.stdout.write("docs/performance.md is written once all sections have been measured.\n");
    return;
  }
  await writePage(results);
};

const main = async (wanted: readonly string[]): Promise<void> => {
  const unknown = wanted.filter((name) => name !== "report" && !isSection(name));
  if (unknown.length > 0) {
    process.stderr.write(
      `No section is called ${unknown.join(", ")}. Sections: ${SECTIONS.join(", ")}; or: report\n`,
    );
    process.exitCode = 1;
    return;
  }
  const measured = wanted.length > 0 ? wanted.filter(isSection) : SECTIONS;
  if (measured.length > 0)
    await writeFormatted(RESULTS, JSON.stringify(await inFolder((folder) => measureIn(folder, measured))));
  await report(measured.length > 0 ? measured : SECTIONS);
};

await main(process.argv.slice(2));
