import { basename } from "node:path";
import { parse } from "csv-parse/sync";
import type {
  Claim,
  ImportRow,
  ImportSource,
  RowProblem,
  RowReading,
} from "../../../lib/administration/import/claim.ts";
import { readHeader } from "../../../lib/administration/import/formats/formats.ts";
import type { ReadingOptions } from "../../../lib/administration/import/formats/row.ts";
import { parseJson } from "../../../lib/bounded-text.ts";
import { OperatorError } from "../../operator-error.ts";
import { beginningOf, readRows, renamed, type ColumnNames, type Layout } from "./rows.ts";

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

/** Keys of the first objects of an NDJSON file: an object leaves out what it has no value for. */
const keysOf = (beginning: string): readonly string[] => {
  const objects = beginning.split("\n").map(parseJson);
  return [
    ...new Set(objects.flatMap((one) => (typeof one === "object" && one !== null ? Object.keys(one) : []))),
  ];
};

/** Recognizes a file by its beginning: the delimiter that gives the best header. Null: it is of no known format. */
const recognize = (beginning: string, names: ColumnNames) => {
  const headers: readonly (readonly [Layout, readonly string[]])[] = beginning.trimStart().startsWith("{")
    ? [[{ kind: "ndjson" }, keysOf(beginning)]]
    : DELIMITERS.map((delimiter) => [{ kind: "csv", delimiter }, headerBy(beginning, delimiter)]);
  const known = headers.flatMap(([layout, header]) => {
    const reading = readHeader(header.map((column) => renamed(column, names)));
    return reading === null ? [] : [{ layout, ...reading }];
  });
  return known.find(({ missing }) => missing.length === 0) ?? known[0] ?? null;
};

const FORMATS =
  "RevenueCat's transactions or Google tokens, Adapty's or Qonversion's import, or a table with account, store and an identifier (--map column=name gives a column its name)";

/** @throws OperatorError naming the missing columns */
const open = async (path: string, names: ColumnNames) => {
  const recognized = recognize(await beginningOf(path), names);
  if (recognized === null) throw new OperatorError(`The file ${path} is of no known format: ${FORMATS}.`);
  const { layout, profile, missing } = recognized;
  if (missing.length > 0)
    throw new OperatorError(`The file ${path} looks like ${profile.name}, and lacks: ${missing.join(", ")}.`);
  return { path, name: basename(path), layout, profile };
};

/**
 * Loads Apple's reader of legacy receipts, of an app or of one transaction. It validates nothing, so the transaction id
 * that it finds is only a question for the App Store.
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
  options: ReadingOptions & { readonly map: ColumnNames },
): Promise<ImportSource> => {
  const files = await Promise.all(paths.map(async (path) => open(path, options.map)));
  const transactionOf = await loadReceiptReader();
  const rows = async function* (): AsyncGenerator<ImportRow> {
    for (const [file, { path, layout, profile }] of files.entries()) {
      let number = 0;
      for await (const row of readRows(path, layout, options.map)) {
        number += 1;
        const reading =
          row === null ? UNREADABLE : withoutReceipts(profile.read(row, options), transactionOf);
        yield { file, number, ...reading };
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
