import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort, startDynamoDbLocal } from "../local/dynamodb-local.ts";
import { exportChain } from "../sandbox/ios-store/signing.ts";
import { synthesize } from "../local/synthesize.ts";
import { newChain } from "./purchases.ts";
import { writeFormatted, writeReport } from "./report/report.ts";
import { isComplete, SECTIONS, type Results, type SectionRun } from "./results.ts";

/**
 * `npm run bench [section …]` measures all sections, or those named, each in its own process, and writes
 * `bench/results.json` and the report in `docs/`. `npm run bench report` only writes the report.
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
const measure = async (sections: readonly string[]): Promise<Partial<Results>> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const database = await startDynamoDbLocal({ port: await freePort(), folder: null });
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

const wanted = process.argv.slice(2);
const sections = wanted.length > 0 ? wanted.filter((name) => name !== "report") : SECTIONS;
if (sections.length > 0) await writeFormatted(RESULTS, JSON.stringify(await measure(sections)));
const results = kept();
if (isComplete(results)) await writeReport(results);
else process.stdout.write("No report yet: it is written once all sections have been measured.\n");
