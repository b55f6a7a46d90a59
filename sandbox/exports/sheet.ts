import type { Instant } from "../../lib/entitlements/time.ts";
import type { Person } from "./persons.ts";

/** A row of named fields; empty text, or no field: it has no value. */
export type Row = Readonly<Record<string, string>>;

/** Content of a CSV file (RFC 4180). */
export interface Sheet {
  readonly name: string;
  /** Names, separated by white space. */
  readonly columns: string;
  readonly rowsOf: (person: Person, at: Instant) => readonly Row[];
}

const field = (value = ""): string => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/** Lines of the file, the header first. */
export const linesOf = function* (sheet: Sheet, persons: readonly Person[], at: Instant): Generator<string> {
  const columns = sheet.columns.split(/\s+/);
  yield `${columns.join(",")}\n`;
  for (const person of persons)
    for (const row of sheet.rowsOf(person, at))
      yield `${columns.map((column) => field(row[column])).join(",")}\n`;
};
