import { parse } from "csv-parse/sync";
import { readHeader, type HeaderReading } from "../../../lib/administration/import/formats/formats.ts";

export type Layout =
  | { readonly kind: "csv"; readonly delimiter: string; readonly header: readonly string[] }
  | { readonly kind: "ndjson" };

const DELIMITERS = [",", ";", "\t", "|"] as const;

const headerBy = (beginning: string, delimiter: string): readonly string[] => {
  try {
    const [header = []] = parse(beginning, {
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

/** Names of the table's columns by those in the file: `--map account=user` gives `user` the name `account`. */
export type ColumnNames = ReadonlyMap<string, string>;

export const renamed = (column: string, names: ColumnNames): string => names.get(column) ?? column;

const RANKS: Readonly<Record<HeaderReading["outcome"], number>> = { known: 0, incomplete: 1, unknown: 2 };

/** Keys of the first objects of an NDJSON file: an object leaves out what it has no value for. */
const keysOf = (beginning: string): readonly string[] => {
  const lines = beginning.split("\n");
  const objects = lines.slice(0, lines.length > 1 ? -1 : 1).flatMap((line): unknown[] => {
    try {
      return line.trim() === "" ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  return [
    ...new Set(objects.flatMap((one) => (typeof one === "object" && one !== null ? Object.keys(one) : []))),
  ];
};

/** Recognizes a file by its beginning: its layout, and the format of its header. */
export const readLayout = (
  beginning: string,
  names: ColumnNames,
): { readonly layout: Layout; readonly reading: HeaderReading } => {
  const read = (header: readonly string[]) => readHeader(header.map((column) => renamed(column, names)));
  if (beginning.trimStart().startsWith("{"))
    return { layout: { kind: "ndjson" }, reading: read(keysOf(beginning)) };
  const [best] = DELIMITERS.map((delimiter) => {
    const header = headerBy(beginning, delimiter);
    return { layout: { kind: "csv", delimiter, header } as const, reading: read(header) };
  }).sort(
    (a, b) =>
      RANKS[a.reading.outcome] - RANKS[b.reading.outcome] || b.layout.header.length - a.layout.header.length,
  );
  return best ?? { layout: { kind: "csv", delimiter: ",", header: [] }, reading: { outcome: "unknown" } };
};
