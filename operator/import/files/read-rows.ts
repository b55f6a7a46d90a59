import { createInterface } from "node:readline";
import { parse } from "csv-parse";
import { columnsOf, type Profile } from "../../../lib/administration/import/formats/profile.ts";
import type { Row } from "../../../lib/administration/import/formats/values.ts";
import { openFile } from "./file-text.ts";
import { renamed, type ColumnNames, type Layout } from "./layout.ts";

/** A larger row is none: a quotation mark is not closed. */
const LONGEST_ROW_CHARACTERS = 1024 * 1024;

/** A row's fields; null: it cannot be read. */
export type ReadRow = Row | null;

/** Every format needs two columns: a row with fewer is cut off, or has another delimiter. */
const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && Object.keys(value).length > 1;

const csvRows = async function* (
  file: string,
  delimiter: string,
  wanted: ReadonlySet<string>,
  names: ColumnNames,
): AsyncGenerator<ReadRow> {
  let skipped = 0;
  const parser = parse({
    delimiter,
    bom: true,
    columns: (header: string[]) =>
      header.map((column) => {
        const name = renamed(column.trim(), names);
        return wanted.has(name) ? name : false;
      }),
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: LONGEST_ROW_CHARACTERS,
    on_skip: () => {
      skipped += 1;
      return undefined;
    },
  });
  const stream = await openFile(file);
  stream.on("error", (error) => parser.destroy(error));
  stream.pipe(parser);
  try {
    for await (const record of parser) {
      for (; skipped > 0; skipped -= 1) yield null;
      yield isRow(record) ? record : null;
    }
    for (; skipped > 0; skipped -= 1) yield null;
  } finally {
    stream.destroy();
  }
};

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

const objectIn = (line: string, names: ColumnNames): ReadRow => {
  try {
    const object: unknown = JSON.parse(line);
    if (typeof object !== "object" || object === null || Array.isArray(object)) return null;
    return Object.fromEntries(
      Object.entries(object).map(([key, value]) => [renamed(key, names), textOf(value)]),
    );
  } catch {
    return null;
  }
};

const ndjsonRows = async function* (file: string, names: ColumnNames): AsyncGenerator<ReadRow> {
  const stream = await openFile(file);
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity }))
      if (line.trim() !== "") yield objectIn(line.replace(/^\ufeff/, ""), names);
  } finally {
    stream.destroy();
  }
};

/** The rows of a file, a bounded part at a time, with the columns that its format reads. */
export const readRows = (
  file: string,
  layout: Layout,
  profile: Profile,
  names: ColumnNames,
): AsyncGenerator<ReadRow> =>
  layout.kind === "ndjson"
    ? ndjsonRows(file, names)
    : csvRows(file, layout.delimiter, columnsOf(profile), names);
