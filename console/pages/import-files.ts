/** A cause of differences, as a run's report counts it. */
export interface ReportedCause {
  readonly cause: string;
  readonly meaning: string;
  readonly accounts: number;
}

/** The report of a run: `import-report.json`. */
export interface RunReport {
  readonly sentence: string;
  readonly causes: readonly ReportedCause[];
}

/** A row of the accounts that differ: `import-differences.csv`. */
export type Difference = Readonly<Record<(typeof COLUMNS)[number], string>>;

const COLUMNS = [
  "account",
  "cause",
  "store",
  "product",
  "purchase",
  "other_service_gives_access",
  "state",
  "file",
  "row",
] as const;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const isCause = (value: unknown): value is ReportedCause =>
  isRecord(value) &&
  typeof value["cause"] === "string" &&
  typeof value["meaning"] === "string" &&
  typeof value["accounts"] === "number";

const isReport = (value: unknown): value is RunReport =>
  isRecord(value) &&
  typeof value["sentence"] === "string" &&
  Array.isArray(value["causes"]) &&
  value["causes"].every(isCause);

/** Null: it is no report of a run. */
export const readReport = (text: string): RunReport | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isReport(value) ? value : null;
  } catch {
    return null;
  }
};

/** Fields of each row of a CSV file. */
const rowsOf = function* (text: string): Generator<readonly string[]> {
  let row: string[] = [];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (row.length > 1) yield row;
    row = [];
  }
};

/** A field as it was, before the file's writer kept spreadsheets from running it. */
const unescaped = (field: string): string => field.replace(/^'(?=[=+\-@\t\r])/, "");

/** Null: it is no list of accounts that differ. */
export const readDifferences = (text: string): readonly Difference[] | null => {
  const [header = [], ...rows] = rowsOf(text);
  if (!COLUMNS.every((column, index) => header[index] === column)) return null;
  return rows.map(
    (row) =>
      Object.fromEntries(COLUMNS.map((column, index) => [column, unescaped(row[index] ?? "")])) as Difference,
  );
};

/** Those of which any field has the text, in any case. */
export const searched = (differences: readonly Difference[], text: string): readonly Difference[] => {
  const sought = text.trim().toLowerCase();
  return differences.filter((one) =>
    Object.values(one).some((field) => field.toLowerCase().includes(sought)),
  );
};
