import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { parse } from "csv-parse";
import { parse as parseText } from "csv-parse/sync";
import type {
  Claim,
  ImportRow,
  ImportSource,
  RowProblem,
  RowReading,
} from "../../lib/administration/import/claim.ts";
import { readHeader, type AccountChoice, type Row } from "../../lib/administration/import/formats.ts";
import { parseJson } from "../../lib/bounded-text.ts";
import { oneOf, repeated, required, type Argument, type ValuesOf } from "../commands/command.ts";
import { cannotRead, OperatorError } from "../operator-error.ts";

/** Names of the table's columns by those in the file: `--map account=user` gives `user` the name `account`. */
type ColumnNames = ReadonlyMap<string, string>;

export const FILES = {
  name: "<files...>",
  about: "exports: CSV or NDJSON, also compressed",
  read: (given: unknown): readonly string[] => [given].flat().map(String),
} satisfies Argument<readonly string[]>;

const readMap = (maps: readonly string[]): ColumnNames =>
  new Map(
    maps.map((map) => {
      const [column = "", name = ""] = map.split(/=(.*)/s);
      if (column === "" || name === "") throw new OperatorError("--map has the form column=name.");
      return [name, column] as const;
    }),
  );

export const READING = {
  map: repeated("--map <column=name>", "the file's name of a table's column", readMap),
  account: required(
    "--account <last-seen|original>",
    "which of RevenueCat's identifiers is the account",
    oneOf<AccountChoice>(["last-seen", "original"]),
    "last-seen",
  ),
};

const renamed = (column: string, names: ColumnNames): string => names.get(column) ?? column;

/** Bytes of a file that are read at once. A file's format is recognized by the first of them. */
const PART_BYTES = 256 * 1024;

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
  const bytes = createReadStream(file, { highWaterMark: PART_BYTES });
  return isCompressed ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
};

const withoutMark = (text: string): string => text.replace(/^\ufeff/, "");

/** The beginning of a file's text, uncompressed, without its byte order mark. @throws OperatorError */
const beginningOf = async (file: string): Promise<string> => {
  let beginning = Buffer.alloc(0);
  try {
    // A loop that is left destroys the stream.
    for await (const chunk of await openFile(file)) {
      beginning = Buffer.concat([beginning, Buffer.from(chunk)]);
      if (beginning.length >= PART_BYTES) break;
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
  stream: Readable,
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
  stream.on("error", (error) => parser.destroy(error));
  stream.pipe(parser);
  for await (const record of parser) {
    for (; skipped > 0; skipped -= 1) yield null;
    yield isRow(record) ? record : null;
  }
  for (; skipped > 0; skipped -= 1) yield null;
};

const objectIn = (line: string): object | null => {
  const value = parseJson(line);
  return typeof value === "object" && !Array.isArray(value) ? value : null;
};

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

const ndjsonRows = async function* (stream: Readable, names: ColumnNames): AsyncGenerator<Row | null> {
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    const object = objectIn(withoutMark(line));
    const fields = Object.entries(object ?? {}).map(([key, value]) => [renamed(key, names), textOf(value)]);
    yield object === null ? null : Object.fromEntries(fields);
  }
};

/** The rows of a file, a bounded part at a time; null: it cannot be read. @param delimiter null: it is NDJSON */
const rowsIn = async function* (
  file: string,
  delimiter: string | null,
  names: ColumnNames,
): AsyncGenerator<Row | null> {
  const stream = await openFile(file);
  try {
    yield* delimiter === null ? ndjsonRows(stream, names) : csvRows(stream, delimiter, names);
  } finally {
    stream.destroy();
  }
};

const DELIMITERS = [",", ";", "\t", "|"] as const;

const headerBy = (beginning: string, delimiter: string): readonly string[] => {
  try {
    const [header = []] = parseText(beginning, {
      delimiter,
      to: 1,
      relax_quotes: true,
      relax_column_count: true,
    });
    return header.map((column) => column.trim());
  } catch {
    return [];
  }
};

/** Keys of the first objects of an NDJSON file: an object leaves out what it has no value for. */
const keysOf = (beginning: string): readonly string[] => [
  ...new Set(beginning.split("\n").flatMap((line) => Object.keys(objectIn(line) ?? {}))),
];

/** Recognizes a file by its beginning: the delimiter that gives the best header. Null: it is of no known format. */
const recognize = (beginning: string, names: ColumnNames) => {
  const headers = beginning.trimStart().startsWith("{")
    ? [{ delimiter: null, header: keysOf(beginning) }]
    : DELIMITERS.map((delimiter) => ({ delimiter, header: headerBy(beginning, delimiter) }));
  const known = headers.flatMap(({ delimiter, header }) => {
    const reading = readHeader(header.map((column) => renamed(column, names)));
    return reading === null ? [] : [{ delimiter, ...reading }];
  });
  return known.find(({ missing }) => missing.length === 0) ?? known[0] ?? null;
};

const FORMATS =
  "RevenueCat's transactions or Google tokens, Adapty's or Qonversion's import, or a table with account, store and an identifier (--map column=name gives a column its name)";

/** @throws OperatorError naming the missing columns */
const openFormat = async (path: string, names: ColumnNames) => {
  const beginning = await beginningOf(path);
  if (beginning.trim() === "") throw new OperatorError(`The file ${path} is empty.`);
  const recognized = recognize(beginning, names);
  if (recognized === null) throw new OperatorError(`The file ${path} is of no known format: ${FORMATS}.`);
  const { delimiter, profile, missing } = recognized;
  if (missing.length > 0)
    throw new OperatorError(`The file ${path} looks like ${profile.name}, and lacks: ${missing.join(", ")}.`);
  return { path, name: basename(path), delimiter, profile };
};

/**
 * Loads Apple's reader of legacy receipts, of an app or of one transaction. It validates nothing: the transaction id that
 * it finds is only a question for the App Store.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
const loadReceiptReader = async (): Promise<(receipt: string) => string | null> => {
  // Loading takes a third of a second, and no other command needs it.
  const { ReceiptUtility } = await import("@apple/app-store-server-library");
  const utility = new ReceiptUtility();
  const kinds = [
    (receipt: string) => utility.extractTransactionIdFromAppReceipt(receipt),
    (receipt: string) => utility.extractTransactionIdFromTransactionReceipt(receipt),
  ];
  return (receipt) => {
    for (const read of kinds)
      try {
        const transaction = read(receipt);
        if (transaction !== null && /^\d{1,64}$/.test(transaction)) return transaction;
      } catch {
        // It is no receipt of this kind.
      }
    return null;
  };
};

const UNREADABLE: RowReading = { claims: [], problems: ["unreadable"] };

/** Claims with the transaction that a receipt names in its place. */
const withoutReceipts = (
  { claims, problems }: RowReading,
  transactionOf: (receipt: string) => string | null,
): RowReading => {
  const bad: RowProblem[] = [];
  const named = claims.map((claim): Claim => {
    if (claim.name?.kind !== "receipt") return claim;
    const value = transactionOf(claim.name.value);
    if (value === null) bad.push("bad-receipt");
    return { ...claim, name: value === null ? null : { kind: "transaction", value } };
  });
  return { claims: named, problems: [...problems, ...bad] };
};

/** @throws OperatorError */
export const openSource = async (
  paths: readonly string[],
  options: ValuesOf<typeof READING>,
): Promise<ImportSource> => {
  const files = await Promise.all(paths.map(async (path) => openFormat(path, options.map)));
  const transactionOf = await loadReceiptReader();
  const rows = async function* (): AsyncGenerator<ImportRow> {
    for (const [file, { path, delimiter, profile }] of files.entries()) {
      let row = 0;
      for await (const fields of rowsIn(path, delimiter, options.map)) {
        row += 1;
        const reading = fields === null ? UNREADABLE : profile.read(fields, options.account);
        yield { file, row, ...withoutReceipts(reading, transactionOf) };
      }
    }
  };
  return {
    files: files.map(({ name, profile }) => ({
      name,
      format: profile.name,
      claimsAccess: profile.claimsAccess,
    })),
    rows,
  };
};
