import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { v7 as uuid } from "uuid";
import { SECOND } from "../../lib/duration.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { exportOf, planPersons, sellPersons, writeExport } from "../../sandbox/exports/exports.ts";
import { saveApplication } from "../../testing/application.ts";
import { CATALOGS } from "../../testing/support/import/catalogs.ts";
import { meteredRun } from "../../testing/support/import/metered-run.ts";
import { serveImportStores } from "../../testing/support/import/stores.ts";
import { createTestTable } from "../../testing/support/table/table.ts";

/** The command `import`, in a process of its own; the sandbox stores and DynamoDB Local share the processors. */
interface ImportingResult {
  /** Check of a RevenueCat export, offline. */
  readonly check: Costs & { readonly rows: number; readonly fileMegabytes: number };
  /** Run at the stores' full rate, without a limit of its own. */
  readonly run: Costs & { readonly persons: number; readonly personsPerSecond: number };
  readonly perPerson: Readonly<Record<"requests" | "readUnits" | "writeUnits", number>>;
}

interface Costs {
  readonly seconds: number;
  /** Most memory that the process has held. */
  readonly peakMegabytes: number;
}

const ROWS = 1_000_000;
const PERSONS = 8_000;
/** Persons whose units are counted. */
const COUNTED = 500;
const MEGABYTE = 2 ** 20;

const OPERATOR = fileURLToPath(new URL("../../operator/main.ts", import.meta.url));
const PEAK = new URL("../workers/peak.ts", import.meta.url).href;

const timed = async (
  folder: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Costs> => {
  const peak = join(folder, "peak");
  const start = performance.now();
  const child = spawn(process.execPath, ["--import", PEAK, OPERATOR, "import", ...words, "--json"], {
    env: { ...process.env, ...environment, BENCH_PEAK: peak },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = new Promise<number | null>((resolve) => void child.once("close", resolve));
  const errors = await text(child.stderr);
  const code = await closed;
  if (code !== 0) throw new Error(`import ${words[0]} has ended with ${code}: ${errors.slice(-2000)}`);
  return {
    seconds: (performance.now() - start) / SECOND,
    peakMegabytes: Number(readFileSync(peak, "utf8")) / MEGABYTE,
  };
};

/** Lines of an export of so many rows, made a part at a time. */
const exportLines = function* (rows: number): Generator<string> {
  let left = rows;
  for (let seed = 1; left > 0; seed += 1) {
    const at = Date.now();
    const persons = planPersons({ count: 10_000, seed, at, catalogs: CATALOGS });
    const [file] = exportOf(persons, "revenuecat-export", at).files;
    const [header = "", ...lines] = file?.lines() ?? [];
    if (seed === 1) yield header;
    yield* lines.slice(0, left);
    left -= lines.length;
  }
};

const measureCheck = async (folder: string): Promise<ImportingResult["check"]> => {
  const path = join(folder, "transactions.csv");
  await pipeline(Readable.from(exportLines(ROWS)), createWriteStream(path));
  const costs = await timed(folder, ["check", path]);
  return { rows: ROWS, fileMegabytes: statSync(path).size / MEGABYTE, ...costs };
};

/** An application whose persons have bought in the stores, on a table of its own, and their export. */
const withPersons = async <Result>(
  folder: string,
  count: number,
  act: (path: string, application: string, environment: Readonly<Record<string, string>>) => Promise<Result>,
): Promise<Result> => {
  const identifier = applicationId(uuid());
  const stores = await serveImportStores(identifier, Date.now);
  const table = await createTestTable();
  try {
    await saveApplication(table, stores.manifest);
    const at = Date.now();
    const persons = await sellPersons(stores, { count, seed: 1, at, catalogs: stores.catalogs });
    const { paths } = await writeExport(join(folder, identifier), persons, "table", at);
    return await act(paths.join(), identifier, { ...stores.environment, TABLE_NAME: table.name });
  } finally {
    await stores.stop();
    await table.remove();
  }
};

const measureRun = async (folder: string): Promise<ImportingResult["run"]> =>
  withPersons(folder, PERSONS, async (path, application, environment) => {
    const words = ["run", path, "--application", application, "--rate", "1000"];
    const costs = await timed(folder, words, environment);
    return { persons: PERSONS, personsPerSecond: PERSONS / costs.seconds, ...costs };
  });

const countUnits = async (folder: string): Promise<ImportingResult["perPerson"]> =>
  withPersons(folder, COUNTED, async (path, application, environment) => {
    const { requests, readUnits, writeUnits } = await meteredRun([path], application, environment);
    const sent = Object.values(requests).reduce((sum, one) => sum + one, 0);
    return { requests: sent / COUNTED, readUnits: readUnits / COUNTED, writeUnits: writeUnits / COUNTED };
  });

export const measureImporting = async (): Promise<ImportingResult> => {
  const folder = mkdtempSync(join(tmpdir(), "importing-"));
  try {
    const check = await measureCheck(folder);
    const run = await measureRun(folder);
    return { check, run, perPerson: await countUnits(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
