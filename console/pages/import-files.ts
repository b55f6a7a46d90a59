import * as z from "zod/mini";

/** The report of a run, `import-report.json`, with the causes of differences. */
const runReport = z.object({
  sentence: z.string(),
  causes: z.array(z.object({ cause: z.string(), meaning: z.string(), accounts: z.number() })),
});

export type RunReport = z.infer<typeof runReport>;

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

/** Null: it is no report of a run. */
export const readReport = (text: string): RunReport | null => {
  try {
    return runReport.parse(JSON.parse(text));
  } catch {
    return null;
  }
};

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
