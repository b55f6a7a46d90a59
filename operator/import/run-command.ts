import { writeFile } from "node:fs/promises";
import { dirname, join as joinPath } from "node:path";
import { parse } from "csv-parse/sync";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../lib/administration/reports/audit.ts";
import type { AskedEnvironment } from "../../lib/administration/import/claim.ts";
import { applyEntry, createJoin } from "../../lib/administration/import/join.ts";
import { createGates } from "../../lib/administration/import/asking/pace.ts";
import {
  readClaims,
  runImport,
  type ImportReport,
  type ImportRun,
} from "../../lib/administration/import/run.ts";
import type { ImportSource } from "../../lib/administration/import/source.ts";
import { pacedStores, rateOf } from "../../lib/administration/import/asking/stores.ts";
import { previewOf, storingIn } from "../../lib/administration/import/asking/storing.ts";
import type { Application } from "../../lib/applications/application.ts";
import { accountId, type AccountId } from "../../lib/identifiers.ts";
import { ACTING, actorOf, record } from "../commands/acting.ts";
import { findApplication } from "../commands/arguments.ts";
import { command, flag, optional, required, type ValuesOf } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import type { Answer } from "../text/answer.ts";
import { readTextFile } from "../text-file.ts";
import { openDifferences } from "./files/differences-file.ts";
import { openJournal, type JournalFile } from "./files/journal-file.ts";
import { CSV, FILES, openFiles, READING, readNumber } from "./options.ts";
import { createProgress } from "./progress-line.ts";
import { reportJson, reportText, type RunSummary } from "./report-text.ts";
import { customersOn, storesOn } from "./wiring.ts";

const OPTIONS = {
  ...READING,
  ...ACTING,
  application: required("--application <id>", "the application's identifier"),
  dryRun: flag("--dry-run", "ask the stores, and store nothing"),
  limit: optional("--limit <rows>", "take no more rows"),
  environment: optional("--environment <production|sandbox>", "take only purchases of it"),
  rate: required("--rate <number>", "requests a second to each bundle or package", "20"),
  decide: optional("--decide <file.csv>", "the account of purchases that the files give to several"),
  journal: optional("--journal <file>", "where the run notes what is done; beside the first file by default"),
  csv: CSV,
};
type RunOptions = ValuesOf<typeof OPTIONS>;

/** Questions that wait for an answer at once, in each store: more than the rate needs at a second an answer. */
const atOnceAt = (rate: number): number => Math.min(64, Math.max(16, Math.ceil(rate * 1.5)));

const readEnvironment = (text: string | undefined): AskedEnvironment | null => {
  if (text === undefined || text === "production" || text === "sandbox") return text ?? null;
  throw new OperatorError("--environment is production or sandbox.");
};

/** Reads `--decide`: the columns purchase and account, as in the file of the accounts that differ. */
const readDecisions = async (file: string | undefined): Promise<ReadonlyMap<string, AccountId>> => {
  if (file === undefined) return new Map();
  const text = await readTextFile(file);
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
  { identifier }: Application,
  { head }: JournalFile,
  { files }: ImportSource,
  options: RunOptions,
): Promise<void> => {
  const what = files.map(({ name, format }) => `${name} (${format})`);
  const entry = auditEntry("import", head.startedAt, await actorOf(session, options), { what });
  await record(session, identifier, { entryIdentifier: head.run, entry });
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

const answered = async (report: ImportReport, summary: RunSummary, unfinished: boolean): Promise<Answer> => {
  const json = reportJson(report, summary);
  await writeFile(summary.report, `${JSON.stringify(json, null, 2)}\n`, { mode: 0o600 });
  return { json, text: reportText(report, summary), unfinished };
};

const runOn = (
  session: Session,
  application: Application,
  options: RunOptions,
  only: AskedEnvironment | null,
) => {
  const { environment } = session;
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
    isDryRun: options.dryRun,
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

export const runFiles = command({
  name: "import run",
  about: "ask the stores about an export's purchases, store and link what they say, and report",
  takes: { files: FILES },
  options: OPTIONS,
  run: async ({ session, files, options, progress: line, terminal }) => {
    const application = await findApplication(session, options.application);
    const only = readEnvironment(options.environment);
    const decided = await readDecisions(options.decide);
    const limit = options.limit === undefined ? Infinity : readNumber("--limit", options.limit, 1e9);
    const source = limited(await openFiles(files, options), only, limit);
    const places = pathsOf(files, options);
    const { gates, parts } = runOn(session, application, options, only);
    const progress = createProgress({ line, terminal, now: Date.now }, gates.all);
    const all = await readClaims({ source, join: parts.join }, progress.show);
    const journal = await begin(session, parts, source, options, places.journal, line);
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
      return await answered(report, { isDryRun: options.dryRun, stopped, ...places }, unfinished);
    } finally {
      progress.end();
      journal.close();
      differences.close();
    }
  },
});
