import { closeSync, createReadStream, existsSync, openSync, renameSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  keyOf,
  readJournal,
  type JournalEntry,
  type JournalHead,
} from "../../lib/administration/import/join.ts";
import type { Difference } from "../../lib/administration/import/report.ts";
import { asText, optional } from "../commands/command.ts";
import { OperatorError } from "../operator-error.ts";

export const CSV = optional(
  "--csv <file>",
  "where the accounts that differ are listed; beside the first file by default",
  asText,
);

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
    close: (): void => closeSync(file),
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
];

export const openDifferences = (path: string, files: readonly { readonly name: string }[]) => {
  const csv = openCsv(path, COLUMNS);
  return {
    add: ({ file, row, claim, lineage, cause }: Difference): void => {
      const { account, store, product } = claim;
      const { claimsAccess, state } = lineage;
      const name = files[file]?.name;
      const fields = [account, cause, store, product?.productIdentifier, keyOf(claim, lineage)];
      csv.add([...fields, claimsAccess, state, name, row].map((value) => String(value ?? "")));
    },
    close: csv.close,
  };
};

const isSame = (head: JournalHead, wanted: JournalHead): boolean =>
  (["application", "table", "isDryRun", "environment"] as const).every((name) => head[name] === wanted[name]);

const linesOf = (path: string) => createInterface({ input: createReadStream(path), crlfDelay: Infinity });

/** The head of a journal whose run is not finished; null: there is none. */
const unfinished = async (path: string, wanted: JournalHead): Promise<JournalHead | null> => {
  if (!existsSync(path)) return null;
  const { head, isFinished } = await readJournal(linesOf(path), () => undefined);
  if (head === null)
    throw new OperatorError(`The file ${path} is no journal of an import: name another one with --journal.`);
  if (isFinished) return null;
  if (isSame(head, wanted)) return head;
  throw new OperatorError(
    `The journal ${path} is of an import that is not finished: of another application, table or environment, or of a dry run. Finish it, remove it, or name another one with --journal.`,
  );
};

/**
 * Opens the journal of a run, and applies what an interrupted one has done. A finished run's is kept beside it, as
 * `.previous`. Each line is written at once, so that a killed run loses only questions.
 */
export const openJournal = async (
  path: string,
  wanted: JournalHead,
  apply: (entry: JournalEntry) => void,
) => {
  const known = await unfinished(path, wanted);
  if (known !== null) await readJournal(linesOf(path), apply);
  else if (existsSync(path)) renameSync(path, `${path}.previous`);
  const file = openSync(path, "a", 0o600);
  const write = (line: unknown): void => void writeSync(file, `${JSON.stringify(line)}\n`);
  // A killed run may have cut its last line off.
  if (known !== null) writeSync(file, "\n");
  else write(wanted);
  return {
    head: known ?? wanted,
    isResumed: known !== null,
    record: (entry: JournalEntry): void => write(entry),
    /** Ends the run: the next one asks anew. */
    finish: (finishedAt: number): void => write({ finishedAt }),
    close: (): void => closeSync(file),
  };
};
