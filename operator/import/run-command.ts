import { readFile, writeFile } from "node:fs/promises";
import { dirname, join as joinPath } from "node:path";
import { parse } from "csv-parse/sync";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../lib/administration/reports/audit.ts";
import type { AskedEnvironment } from "../../lib/administration/import/claim.ts";
import { applyEntry, createJoin } from "../../lib/administration/import/join.ts";
import { createGates } from "../../lib/administration/import/asking/pace.ts";
import { readClaims, runImport, type ImportRun } from "../../lib/administration/import/run.ts";
import type { ImportReport } from "../../lib/administration/import/reports/report.ts";
import type { ImportSource } from "../../lib/administration/import/source.ts";
import { pacedStores, rateOf } from "../../lib/administration/import/asking/stores.ts";
import { previewOf, storingIn } from "../../lib/administration/import/asking/storing.ts";
import type { Application } from "../../lib/applications/application.ts";
import { accountId, type AccountId } from "../../lib/identifiers.ts";
import { actorOf, type ActingOptions } from "../commands/acting.ts";
import { type Answer } from "../text/answer.ts";
import type { EnvironmentVariables } from "../connection.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "../session.ts";
import { openDifferences } from "./files/differences-file.ts";
import { openJournal, type JournalFile } from "./files/journal-file.ts";
import { openFiles, readNumber, type FileOptions } from "./options.ts";
import { createProgress, type ProgressWorld } from "./progress-line.ts";
import { reportJson, reportText, type RunSummary } from "./report-text.ts";
import { customersOn, storesOn } from "./wiring.ts";

export interface RunOptions extends FileOptions, ActingOptions {
  readonly application: string;
  readonly dryRun?: true;
  readonly limit?: string;
  readonly environment?: string;
  readonly rate: string;
  readonly decide?: string;
  readonly journal?: string;
  readonly csv?: string;
}

/** Parts of the program that a run uses. */
export interface RunWorld extends Omit<ProgressWorld, "now"> {
  readonly environment: EnvironmentVariables;
}

/** Questions that wait for an answer at once, in each store: more than the rate needs at a second an answer. */
const atOnceAt = (rate: number): number => Math.min(64, Math.max(16, Math.ceil(rate * 1.5)));

const readEnvironment = (text: string | undefined): AskedEnvironment | null => {
  if (text === undefined || text === "production" || text === "sandbox") return text ?? null;
  throw new OperatorError("--environment is production or sandbox.");
};

/** Reads `--decide`: the columns purchase and account, as in the file of the accounts that differ. */
const readDecisions = async (file: string | undefined): Promise<ReadonlyMap<string, AccountId>> => {
  if (file === undefined) return new Map();
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new OperatorError(`The file ${file} cannot be read.`, { cause });
  });
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true, skip_empty_lines: true });
  return new Map(
    rows.map(({ purchase = "", account = "" }) => {
      if (purchase === "" || account === "")
        throw new OperatorError(`The file ${file} needs the columns purchase and account in every row.`);
      return [purchase, accountId(account)] as const;
    }),
  );
};

/** The rows that a run takes: of its environment, and so many at most. */
const limited = (source: ImportSource, only: AskedEnvironment | null, limit: number): ImportSource => ({
  ...source,
  rows: async function* () {
    let rows = 0;
    for await (const row of source.rows()) {
      const claims = row.claims.filter(
        ({ environment }) => only === null || environment === null || environment === only,
      );
      if (claims.length === 0 && row.claims.length > 0) continue;
      rows += 1;
      if (rows > limit) return;
      yield { ...row, claims };
    }
  },
});

/** One entry for a run, however often it is interrupted: a repeated one has the same key. */
const recordRun = async (
  session: Session,
  application: Application,
  { head }: JournalFile,
  { files }: ImportSource,
  options: RunOptions,
): Promise<void> => {
  const what = files.map(({ name, format }) => `${name} (${format})`);
  const actor = await actorOf(session, options);
  const entry = auditEntry("import", head.startedAt, actor, { what });
  try {
    await session.audit.record(application.identifier, { entryIdentifier: head.run, entry });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "AccessDeniedException") throw error;
    throw new OperatorError(
      "Nothing was changed. Your AWS credentials cannot write the audit log; attach OperatorChangesPolicy.",
      { cause: error },
    );
  }
};

const pathsOf = ([first = ""]: readonly string[], { journal: wanted, csv, dryRun }: RunOptions) => {
  const beside = (file: string, suffix: string): string =>
    joinPath(dirname(file), `import${dryRun ? "-dry-run" : ""}${suffix}`);
  const journal = wanted ?? beside(first, ".journal.ndjson");
  return {
    journal,
    differences: csv ?? beside(first, "-differences.csv"),
    report: beside(journal, "-report.json"),
  };
};

/** The answer of a run; the console reads its JSON from the file. */
const answered = async (report: ImportReport, summary: RunSummary, unfinished: boolean): Promise<Answer> => {
  const json = reportJson(report, summary);
  await writeFile(summary.report, `${JSON.stringify(json, null, 2)}\n`, { mode: 0o600 });
  return { json, text: reportText(report, summary), unfinished };
};

const runOn = (
  session: Session,
  application: Application,
  options: RunOptions,
  { environment }: RunWorld,
  only: AskedEnvironment | null,
) => {
  const rate = readNumber("--rate", options.rate, 1000);
  const gates = createGates({ now: session.now, wait: session.wait }, rateOf(rate));
  const stores = pacedStores(storesOn(session, environment), gates, session.now);
  const customers = customersOn(session, stores, environment);
  const storing = options.dryRun
    ? previewOf(customers.table, application, session.now)
    : storingIn(customers, application);
  const { verifier, trustedRoots } = customers;
  const parts = { ...stores, verifier, trustedRoots, now: session.now, application, storing, only };
  return { gates, parts: { ...parts, join: createJoin(), atOnce: atOnceAt(rate) } };
};

/** Opens the run's journal; an interrupted run goes on. A run is in the audit before it begins. */
const begin = async (
  session: Session,
  { application, only, join }: Pick<ImportRun, "application" | "only" | "join">,
  source: ImportSource,
  options: RunOptions,
  path: string,
  say: (line: string) => void,
): Promise<JournalFile> => {
  const described = {
    import: 1,
    application: application.identifier,
    table: session.table.name,
    isDryRun: options.dryRun === true,
    environment: only,
  } as const;
  const fresh = { run: uuid(), startedAt: session.moment };
  const journal = await openJournal(path, described, fresh, (entry) => applyEntry(join, entry));
  if (journal.isResumed) say(`An interrupted run goes on: ${path}.`);
  try {
    if (!options.dryRun) await recordRun(session, application, journal, source, options);
    return journal;
  } catch (error) {
    journal.close();
    throw error;
  }
};

/** Asks the stores about what the files name, stores and links it, and reports how the files differ. */
export const runFiles = async (
  session: Session,
  paths: readonly string[],
  options: RunOptions,
  world: RunWorld,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(options.application));
  const only = readEnvironment(options.environment);
  const decided = await readDecisions(options.decide);
  const limit = options.limit === undefined ? Infinity : readNumber("--limit", options.limit, 1e9);
  const source = limited(await openFiles(paths, options), only, limit);
  const places = pathsOf(paths, options);
  const { gates, parts } = runOn(session, application, options, world, only);
  const progress = createProgress({ ...world, now: Date.now }, gates.all);
  const all = await readClaims({ source, join: parts.join }, progress.show);
  const journal = await begin(session, parts, source, options, places.journal, world.line);
  const differences = openDifferences(places.differences, source.files);
  try {
    const { record } = journal;
    const onDifference = differences.add;
    const report = await runImport(
      { ...parts, source, decided, record, onDifference, progress: progress.show },
      all,
    );
    const stopped = [...gates.all()].flatMap(([name, { isStopped }]) => (isStopped ? [name] : []));
    const unfinished = stopped.length > 0 || report.accounts.unanswered > 0;
    if (!unfinished) journal.finish(session.now());
    const summary: RunSummary = { isDryRun: options.dryRun === true, stopped, ...places };
    return await answered(report, summary, unfinished);
  } finally {
    progress.end();
    journal.close();
    differences.close();
  }
};
