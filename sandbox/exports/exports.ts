import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Instant } from "../../lib/entitlements/time.ts";
import { csvLines, ndjsonLines, type Delimiter, type Row } from "./delimited.ts";
import { IMPORT_FILES } from "./imports.ts";
import { plantOf, type Cause } from "./lies.ts";
import type { Person } from "./persons.ts";
import { EXPORT_COLUMNS, exportRows, TOKEN_COLUMNS, tokenRows, type Notation } from "./revenuecat.ts";

/**
 * Exports of a rented service about persons who bought in the sandbox stores, with lies whose truth is known. `sellPersons`
 * sells to them, `planPersons` makes the same persons without a sale, `exportOf` gives the lines of the files, and
 * `writeExport` writes them. `planted` holds every account that an import must report as different, with its cause, and
 * none besides. The same options give the same files.
 */
export { CAUSES, LIES, type Cause, type Lie, type Store } from "./lies.ts";
export { type Person, type PlanOptions } from "./persons.ts";
export { planPersons } from "./plan.ts";
export { sellPersons, type SellingStores } from "./sell.ts";

export const FORMATS = [
  "revenuecat-export",
  "revenuecat-tokens",
  "adapty-import",
  "qonversion-import",
  "table",
] as const;
export type Format = (typeof FORMATS)[number];

export interface ExportOptions {
  /** Time of the export. */
  readonly at: Instant;
  /** Booleans and lists of `revenuecat-export`; default: words. */
  readonly notation?: Notation;
  /** `table` as NDJSON instead of CSV. */
  readonly ndjson?: boolean;
  readonly gzip?: boolean;
  /** Default: a comma. */
  readonly delimiter?: Delimiter;
  /** Whether a CSV file begins with a byte order mark. */
  readonly bom?: boolean;
}

export interface ExportFile {
  /** With `.gz` where the file is to be compressed. */
  readonly name: string;
  /** Text of the file, before it is compressed; each call begins anew. */
  lines(): Iterable<string>;
}

/** An account that differs. */
export interface Planted {
  readonly account: string;
  readonly cause: Cause;
}

export interface Export {
  readonly format: Format;
  readonly files: readonly ExportFile[];
  /** Persons whom the files name. */
  readonly persons: readonly Person[];
  readonly planted: readonly Planted[];
}

const STATEFUL: ReadonlySet<Format> = new Set(["revenuecat-export", "table"]);

/** Whether the format's files have a row of the person. */
const isNamed = ({ store, lie, account }: Person, format: Format): boolean => {
  if (format === "revenuecat-export") return true;
  if (format === "revenuecat-tokens") return store === "android-store" && lie !== "order-id-only";
  return account !== null && (format === "table" || lie !== "order-id-only");
};

const plantedOf = ({ lie, account, otherAccount }: Person, format: Format): readonly Planted[] => {
  if (lie === null || account === null) return [];
  const { cause, isOfState = false } = plantOf(lie);
  if (cause === null || (isOfState && !STATEFUL.has(format))) return [];
  const accounts = lie === "two-accounts" ? [account, otherAccount ?? account] : [account];
  return accounts.map((each) => ({ account: each, cause }));
};

interface Content {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rowsOf: (persons: readonly Person[], options: ExportOptions) => Iterable<Row>;
}

const CONTENTS: Readonly<Record<Format, readonly Content[]>> = {
  "revenuecat-export": [
    {
      name: "transactions",
      columns: EXPORT_COLUMNS,
      rowsOf: (persons, { at, notation = "words" }) => exportRows(persons, at, notation),
    },
  ],
  "revenuecat-tokens": [{ name: "google-tokens", columns: TOKEN_COLUMNS, rowsOf: tokenRows }],
  ...IMPORT_FILES,
};

export const exportOf = (persons: readonly Person[], format: Format, options: ExportOptions): Export => {
  const { ndjson = false, gzip = false, delimiter, bom } = options;
  const notation = { ...(delimiter !== undefined && { delimiter }), ...(bom !== undefined && { bom }) };
  const isNdjson = ndjson && format === "table";
  const named = persons.filter((person) => isNamed(person, format));
  return {
    format,
    files: CONTENTS[format].map(({ name, columns, rowsOf }) => ({
      name: `${name}.${isNdjson ? "ndjson" : "csv"}${gzip ? ".gz" : ""}`,
      lines: () => {
        const rows = rowsOf(named, options);
        return isNdjson ? ndjsonLines(rows) : csvLines(columns, rows, notation);
      },
    })),
    persons: named,
    planted: named.flatMap((person) => plantedOf(person, format)),
  };
};

/** Writes an export's files into a folder, which is made if there is none. */
export const writeExport = async (
  folder: string,
  persons: readonly Person[],
  format: Format,
  options: ExportOptions,
): Promise<Export & { readonly paths: readonly string[] }> => {
  const made = exportOf(persons, format, options);
  await mkdir(folder, { recursive: true });
  const paths = made.files.map(({ name }) => join(folder, name));
  for (const { name, lines } of made.files) {
    const text = Readable.from(lines());
    const file = createWriteStream(join(folder, name));
    await (name.endsWith(".gz") ? pipeline(text, createGzip(), file) : pipeline(text, file));
  }
  return { ...made, paths };
};
