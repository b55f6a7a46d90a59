import { createWriteStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { v7 as uuid } from "uuid";
import { SECOND } from "../../lib/duration.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { exportOf, writeExport } from "../../sandbox/exports/exports.ts";
import { planPersons } from "../../sandbox/exports/plan.ts";
import { sellPersons } from "../../sandbox/exports/sell.ts";
import { saveApplication } from "../../testing/application.ts";
import { CATALOGS, meteredRun, serveImportStores } from "../../testing/support/import.ts";
import { sum } from "../../testing/support/table/meter.ts";
import { createTestTable } from "../../testing/support/table/table.ts";
import { inFolder, run } from "../service.ts";

const ROWS = 1_000_000;
const PERSONS = 8_000;
/** Persons whose units are counted. */
const COUNTED = 500;
const MEGABYTE = 2 ** 20;

const OPERATOR = fileURLToPath(new URL("../../operator/main.ts", import.meta.url));
const PEAK = new URL("../workers/peak.ts", import.meta.url).href;

/** Runs the command `import` in a process of its own: its seconds, and the most memory that it has held. */
const timed = async (
  folder: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) => {
  const peak = join(folder, "peak");
  const start = performance.now();
  await run(process.execPath, ["--import", PEAK, OPERATOR, "import", ...words, "--json"], {
    env: { ...process.env, ...environment, BENCH_PEAK: peak },
    maxBuffer: 1 << 28,
  });
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

/** Check of a RevenueCat export, offline. */
const measureCheck = async (folder: string) => {
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

/** Run at the stores' full rate, without a limit of its own. The sandbox stores and DynamoDB Local share the processors. */
const measureRun = (folder: string) =>
  withPersons(folder, PERSONS, async (path, application, environment) => {
    const words = ["run", path, "--application", application, "--rate", "1000"];
    const costs = await timed(folder, words, environment);
    return { persons: PERSONS, personsPerSecond: PERSONS / costs.seconds, ...costs };
  });

const countUnits = (folder: string) =>
  withPersons(folder, COUNTED, async (path, application, environment) => {
    const { requests, readUnits, writeUnits } = await meteredRun([path], application, environment);
    const sent = sum(Object.values(requests));
    return { requests: sent / COUNTED, readUnits: readUnits / COUNTED, writeUnits: writeUnits / COUNTED };
  });

export const measureImporting = () =>
  inFolder(async (folder) => {
    const check = await measureCheck(folder);
    const run = await measureRun(folder);
    return { check, run, perPerson: await countUnits(folder) };
  });
