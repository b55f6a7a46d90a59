import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { parse } from "csv-parse";
import type { Row } from "../../../lib/administration/import/formats/row.ts";
import { cannotRead } from "../../operator-error.ts";

export type Layout = { readonly kind: "csv"; readonly delimiter: string } | { readonly kind: "ndjson" };

/** Names of the table's columns by those in the file: `--map account=user` gives `user` the name `account`. */
export type ColumnNames = ReadonlyMap<string, string>;

export const renamed = (column: string, names: ColumnNames): string => names.get(column) ?? column;

const GZIP = Buffer.from([0x1f, 0x8b]);

const isGzip = async (file: string): Promise<boolean> => {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.equals(GZIP);
  } finally {
    await handle.close();
  }
};

/** A file's bytes, uncompressed. An error while reading goes to the reader of the stream. */
const openFile = async (file: string): Promise<Readable> => {
  const isCompressed = await isGzip(file);
  const bytes = createReadStream(file, { highWaterMark: 256 * 1024 });
  return isCompressed ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
};

const BEGINNING_BYTES = 256 * 1024;

const withoutMark = (text: string): string => text.replace(/^\ufeff/, "");

/** The beginning of a file's text, uncompressed, without its byte order mark. @throws OperatorError */
export const beginningOf = async (file: string): Promise<string> => {
  let beginning = Buffer.alloc(0);
  try {
    // A loop that is left destroys the stream.
    for await (const chunk of await openFile(file)) {
      beginning = Buffer.concat([beginning, Buffer.from(chunk)]);
      if (beginning.length >= BEGINNING_BYTES) break;
    }
  } catch (error) {
    throw cannotRead(file, error);
  }
  return withoutMark(beginning.toString("utf8"));
};

/** A larger row is none: a quotation mark is not closed. */
const LONGEST_ROW_CHARACTERS = 1024 * 1024;

/** Every format needs two columns: a row with fewer is cut off, or has another delimiter. */
const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && Object.keys(value).length > 1;

const csvRows = async function* (
  file: string,
  delimiter: string,
  names: ColumnNames,
): AsyncGenerator<Row | null> {
  let skipped = 0;
  const parser = parse({
    delimiter,
    bom: true,
    columns: (header: string[]) => header.map((column) => renamed(column.trim(), names)),
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

const objectIn = (line: string, names: ColumnNames): Row | null => {
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

const ndjsonRows = async function* (file: string, names: ColumnNames): AsyncGenerator<Row | null> {
  const stream = await openFile(file);
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity }))
      if (line.trim() !== "") yield objectIn(withoutMark(line), names);
  } finally {
    stream.destroy();
  }
};

/** The rows of a file, a bounded part at a time; null: it cannot be read. */
export const readRows = (file: string, layout: Layout, names: ColumnNames): AsyncGenerator<Row | null> =>
  layout.kind === "ndjson" ? ndjsonRows(file, names) : csvRows(file, layout.delimiter, names);
