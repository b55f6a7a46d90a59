import { writeFile } from "node:fs/promises";
import { dirname, join as joinPath } from "node:path";
import { parse } from "csv-parse/sync";
import { v7 as uuid } from "uuid";
import { auditEntry } from "../../lib/administration/acts/audit.ts";
import type { AskedEnvironment, ImportSource } from "../../lib/administration/import/claim.ts";
import { applyEntry, type Join, type JournalHead } from "../../lib/administration/import/join.ts";
import { pacedStores, type ImportStores } from "../../lib/administration/import/pace.ts";
import { readClaims, runImport } from "../../lib/administration/import/run.ts";
import { previewOf, storingIn } from "../../lib/administration/import/storing.ts";
import type { Application } from "../../lib/applications/application.ts";
import { accountId, customerId, type AccountId } from "../../lib/identifiers.ts";
import { createAndroidStore, createAndroidOrders } from "../../lib/stores/android-store/android-store.ts";
import { createAppStoreServer } from "../../lib/stores/ios-store/app-store-server.ts";
import { APPLE_ROOTS } from "../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
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
import type { EnvironmentVariables } from "../connection.ts";
import { OperatorError, readTextFile } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { RATE } from "./check.ts";
import { CSV, openDifferences, openJournal } from "./files.ts";
import { createProgress, reportJson, reportText } from "./report-text.ts";
import { FILES, openSource, READING } from "./source.ts";

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
  rate: RATE,
  decide: optional("--decide <file.csv>", "the account of purchases that the files give to several", asText),
  journal: optional(
    "--journal <file>",
    "where the run notes what is done; beside the first file by default",
    asText,
  ),
  csv: CSV,
};
type RunOptions = ValuesOf<typeof OPTIONS>;

/** Roots that App Store chains may end in: as the functions read them. */
const rootsIn = ({ IOS_STORE_TRUSTED_ROOTS: given }: EnvironmentVariables): ReadonlySet<string> =>
  new Set(
    given ? given.split(",").map((root) => root.trim().replaceAll(":", "").toLowerCase()) : APPLE_ROOTS,
  );

/** The stores, by the credentials of the shell, and as the functions reach them. */
const storesOn = ({ environment, readSecret, now }: Session): ImportStores => {
  const appStoreUrl = environment["APP_STORE_SERVER_URL"] || undefined;
  const rootUrl = environment["ANDROID_PUBLISHER_URL"] || undefined;
  return {
    appStore: createAppStoreServer({ ...(appStoreUrl && { rootUrl: appStoreUrl }), readSecret, now }),
    androidStore: createAndroidStore({ rootUrl, readSecret, now }),
    orders: createAndroidOrders({ rootUrl, readSecret, now }),
  };
};

/** The parts of a run: the stores at a rate, and the use cases of the service on the session's table. */
const partsOf = (
  session: Session,
  application: Application,
  { rate, environment: only, dryRun: isDryRun }: RunOptions,
) => {
  const { customers, now } = session;
  const { stores, gates } = pacedStores(storesOn(session), session, rate);
  const store = {
    ...session,
    table: customers,
    newCustomerIdentifier: () => customerId(uuid()),
    androidStore: stores.androidStore,
    asks: session.queue,
  };
  const parts = {
    ...stores,
    verifier: createIosStoreVerifier(),
    trustedRoots: rootsIn(session.environment),
    now,
    application,
    storing: isDryRun ? previewOf(customers, application, now) : storingIn(store, application),
    only,
    join: new Map() as Join,
    // In each store: more than the rate needs at a second an answer.
    atOnce: Math.min(64, Math.max(16, Math.ceil(rate * 1.5))),
  };
  return { gates, parts };
};

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

const headOf = (
  { store, moment }: Session,
  { identifier }: Application,
  { dryRun, environment }: RunOptions,
): JournalHead => ({
  import: 1,
  application: identifier,
  table: store.name,
  isDryRun: dryRun,
  environment,
  run: uuid(),
  startedAt: moment,
});

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
    const application = await findApplication(options.application, session);
    const decided = await readDecisions(options.decide);
    const source = limited(await openSource(files, options), options.environment, options.limit ?? Infinity);
    const places = pathsOf(files, options);
    const { gates, parts } = partsOf(session, application, options);
    const progress = createProgress(Date.now, { progress: line, terminal }, gates);
    const all = await readClaims({ source, join: parts.join }, progress.show);
    const head = headOf(session, application, options);
    const journal = await openJournal(places.journal, head, (entry) => applyEntry(parts.join, entry));
    let differences: ReturnType<typeof openDifferences> | undefined;
    try {
      if (journal.isResumed) line(`Continuing from the journal ${places.journal}.`);
      if (!isDryRun) await recordRun(session, application, journal.head, source, options);
      // Only now: a run that the audit refuses leaves the list of the run before.
      const list = (differences = openDifferences(places.differences, source.files));
      const written = { record: journal.record, onDifference: list.add, progress: progress.show };
      const report = await runImport({ ...parts, ...written, source, decided }, all);
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
