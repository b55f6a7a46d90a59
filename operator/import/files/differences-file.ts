import { closeSync, openSync, writeSync } from "node:fs";
import { keyOf } from "../../../lib/administration/import/join.ts";
import type { Difference } from "../../../lib/administration/import/reports/report.ts";

/** A field that a spreadsheet would run as a formula gets an apostrophe. */
const field = (value: string): string => {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const line = (values: readonly string[]): string => `${values.map(field).join(",")}\n`;

/** A CSV file that is written row by row. Only its owner may read it. */
export const openCsv = (path: string, header: readonly string[]) => {
  const file = openSync(path, "w", 0o600);
  writeSync(file, line(header));
  return {
    add: (values: readonly string[]): void => void writeSync(file, line(values)),
    close: () => closeSync(file),
  };
};

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

export const openDifferences = (path: string, files: readonly { readonly name: string }[]) => {
  const csv = openCsv(path, COLUMNS);
  return {
    add: ({ file, row, claim, lineage, cause }: Difference): void => {
      const { account, store, product } = claim;
      const purchase = [
        account ?? "",
        cause,
        store,
        product?.productIdentifier ?? "",
        keyOf(claim, lineage) ?? "",
      ];
      const access = String(lineage.claimsAccess ?? "");
      csv.add([...purchase, access, lineage.state, files[file]?.name ?? "", String(row)]);
    },
    close: csv.close,
  };
};
