import getPort from "get-port";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startDynamoDbLocal } from "../local/database/dynamodb-local.ts";
import { exportChain } from "../sandbox/ios-store/signing.ts";
import { synthesize } from "../local/lambda/synthesize.ts";
import { newChain } from "../testing/support/metered/purchases.ts";
import { writeFormatted, writePage } from "./report/page.ts";
import { printSection } from "./report/tables.ts";
import { isComplete, isSection, SECTIONS, type Results, type Section, type SectionRun } from "./results.ts";

/**
 * `npm run bench -- [section …]` measures all sections, or those named, each in its own process. It prints their tables,
 * keeps their figures in `bench/results.json` and writes `docs/performance.md`. `npm run bench -- report` measures nothing,
 * and prints and writes what is kept.
 */
const RESULTS = fileURLToPath(new URL("results.json", import.meta.url));
const RUNNER = fileURLToPath(new URL("run-section.ts", import.meta.url));
const run = promisify(execFile);

const kept = (): Partial<Results> => (existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {});

const machine = {
  processors: availableParallelism(),
  model: cpus()[0]?.model ?? "unknown",
  node: process.version,
};

/** The results of the sections, beside those that are kept. */
const measure = async (sections: readonly Section[]): Promise<Partial<Results>> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const database = await startDynamoDbLocal({ port: await getPort(), folder: null });
  try {
    const assembly = join(folder, "assembly");
    await synthesize({ folder: assembly });
    const env = {
      ...process.env,
      AWS_ENDPOINT_URL_DYNAMODB: database.endpoint,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      BENCH_ASSEMBLY: assembly,
      BENCH_CHAIN: exportChain(newChain()),
    };
    const runs: Record<string, SectionRun> = { ...kept().runs };
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
    return Object.assign(kept(), measured, { runs });
  } finally {
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

const report = async (sections: readonly Section[]): Promise<void> => {
  const results = kept();
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
  if (measured.length > 0) await writeFormatted(RESULTS, JSON.stringify(await measure(measured)));
  await report(measured.length > 0 ? measured : SECTIONS);
};

await main(process.argv.slice(2));
