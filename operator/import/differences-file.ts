import { closeSync, openSync, writeSync } from "node:fs";
import type { Difference } from "../../lib/administration/import/report.ts";

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

/** A field that a spreadsheet would run as a formula gets an apostrophe. */
const field = (value: string): string => {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const line = (values: readonly string[]): string => `${values.map(field).join(",")}\n`;

/** Writes every account that differs to a CSV file, as it is found. */
export const openDifferences = (path: string, files: readonly { readonly name: string }[]) => {
  const file = openSync(path, "w", 0o600);
  writeSync(file, line(COLUMNS));
  return {
    add: ({ account, cause, store, product, purchase, claimed, state, ...place }: Difference): void =>
      void writeSync(
        file,
        line([
          account,
          cause,
          store,
          product ?? "",
          purchase ?? "",
          claimed === null ? "" : String(claimed),
          state,
          files[place.file]?.name ?? "",
          String(place.row),
        ]),
      ),
    close: () => closeSync(file),
  };
};
