/** A row of named fields; empty text: the field has no value. */
export type Row = Readonly<Record<string, string>>;

/** Separators of a file's fields. */
export type Delimiter = "," | ";" | "\t" | "|";

const field = (value: string, delimiter: Delimiter): string =>
  value.includes('"') || value.includes(delimiter) || value.includes("\n") || value.includes("\r")
    ? `"${value.replaceAll('"', '""')}"`
    : value;

/**
 * Lines of a CSV file, the header first.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 */
export const csvLines = function* (
  columns: readonly string[],
  rows: Iterable<Row>,
  { delimiter = ",", bom = false }: { readonly delimiter?: Delimiter; readonly bom?: boolean } = {},
): Generator<string> {
  const line = (values: readonly string[]): string =>
    `${values.map((value) => field(value, delimiter)).join(delimiter)}\n`;
  yield `${bom ? "\ufeff" : ""}${line(columns)}`;
  for (const row of rows) yield line(columns.map((column) => row[column] ?? ""));
};

/** Lines of an NDJSON file; fields without a value are left out. */
export const ndjsonLines = function* (rows: Iterable<Row>): Generator<string> {
  for (const row of rows)
    yield `${JSON.stringify(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== "")))}\n`;
};
