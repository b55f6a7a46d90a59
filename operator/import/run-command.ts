import { writeFile } from "node:fs/promises";
import { dirname, join as joinPath } from "node:path";
import { parse } from "csv-parse/sync";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../lib/administration/acts/audit.ts";
import type { AskedEnvironment, ImportSource } from "../../lib/administration/import/claim.ts";
import { applyEntry } from "../../lib/administration/import/join.ts";
import type { JournalHead } from "../../lib/administration/import/journal.ts";
import { readClaims, runImport } from "../../lib/administration/import/run.ts";
import type { Application } from "../../lib/applications/application.ts";
import { accountId, type AccountId } from "../../lib/identifiers.ts";
import { ACTING, authorityOf, record } from "../commands/audit.ts";
import {
  APPLICATION_OPTION,
  asText,
  command,
  findApplication,
  flag,
  numberFrom,
  oneOf,
  optional,
  type ValuesOf,
} from "../commands/command.ts";
import { OperatorError, readTextFile } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { openDifferences } from "./files/differences-file.ts";
import { openJournal } from "./files/journal-file.ts";
import { CSV, FILES, rate as rateOption, READING } from "./options.ts";
import { openSource } from "./files/source.ts";
import { createProgress } from "./progress.ts";
import { reportJson, reportText } from "./report-text.ts";
import { runOn } from "./wiring.ts";

const OPTIONS = {
  ...READING,
  ...ACTING,
  application: APPLICATION_OPTION,
  dryRun: flag("--dry-run", "ask the stores, and store nothing"),
  limit: optional("--limit <rows>", "take no more rows", numberFrom(1, 1e9)),
  environment: optional(
    "--environment <production|sandbox>",
    "take only purchases of it",
    oneOf<AskedEnvironment>(["production", "sandbox"]),
  ),
  rate: rateOption("requests a second to each bundle or package"),
  decide: optional("--decide <file.csv>", "the account of purchases that the files give to several", asText),
  journal: optional(
    "--journal <file>",
    "where the run notes what is done; beside the first file by default",
    asText,
  ),
  csv: CSV,
};
type RunOptions = ValuesOf<typeof OPTIONS>;

/** Reads `--decide`: the columns purchase and account, as in the file of the accounts that differ. */
const readDecisions = async (file: string | null): Promise<ReadonlyMap<string, AccountId>> => {
  if (file === null) return new Map();
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

/** One entry for a run, before it begins and however often it is interrupted: a repeated one has the same key. */
const recordRun = async (
  session: Session,
  { identifier }: Application,
  { run, startedAt }: JournalHead,
  { files }: ImportSource,
  options: RunOptions,
): Promise<void> => {
  const what = files.map(({ name, format }) => `${name} (${format})`);
  const { entry } = auditEntry("import", startedAt, await authorityOf(session, options), { what });
  await record(session, identifier, { entryIdentifier: run, entry });
};

export const runFiles = command({
  name: "import run",
  about: "ask the stores about an export's purchases, store and link what they say, and report",
  takes: { files: FILES },
  options: OPTIONS,
  run: async ({ session, files, options, progress: line, terminal }) => {
    const { dryRun: isDryRun } = options;
    const application = await findApplication(session, options.application);
    const { environment: only, rate } = options;
    const decided = await readDecisions(options.decide);
    const source = limited(await openSource(files, options), only, options.limit ?? Infinity);
    const places = pathsOf(files, options);
    const { gates, parts } = runOn(session, application, { rate, only, isDryRun });
    const progress = createProgress(Date.now, { line, terminal }, gates);
    const all = await readClaims({ source, join: parts.join }, progress.show);
    const journal = await openJournal(
      places.journal,
      {
        import: 1,
        application: application.identifier,
        table: session.table.name,
        isDryRun,
        environment: only,
      },
      { run: uuid(), startedAt: session.moment },
      (entry) => applyEntry(parts.join, entry),
    );
    let differences: ReturnType<typeof openDifferences> | undefined;
    try {
      if (journal.isResumed) line(`An interrupted run goes on: ${places.journal}.`);
      if (!isDryRun) await recordRun(session, application, journal.head, source, options);
      // Only now: a run that the audit refuses leaves the list of the run before.
      const list = (differences = openDifferences(places.differences, source.files));
      const { record } = journal;
      const run = {
        ...parts,
        source,
        decided,
        record,
        onDifference: list.add,
        progress: progress.show,
      };
      const report = await runImport(run, all);
      const stopped = [...gates].flatMap(([name, { isStopped }]) => (isStopped ? [name] : []));
      const unfinished = stopped.length > 0 || report.accounts.unanswered > 0;
      if (!unfinished) journal.finish(session.now());
      const summary = { isDryRun, stopped, ...places };
      const json = reportJson(report, summary);
      await writeFile(places.report, `${JSON.stringify(json, null, 2)}\n`, { mode: 0o600 });
      return { json, text: reportText(report, summary), unfinished };
    } finally {
      progress.end();
      journal.close();
      differences?.close();
    }
  },
});
