import { closeSync, createReadStream, existsSync, openSync, renameSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  readJournal,
  type JournalEntry,
  type JournalHead,
} from "../../../lib/administration/import/journal.ts";
import { OperatorError } from "../../operator-error.ts";

/** A journal on the disk. Each line is written at once, so that a killed run loses only questions. */
export interface JournalFile {
  readonly head: JournalHead;
  readonly isResumed: boolean;
  record(entry: JournalEntry): void;
  /** Ends the run: the next one asks anew. */
  finish(finishedAt: number): void;
  close(): void;
}

type Described = Omit<JournalHead, "run" | "startedAt">;

const isSame = (head: JournalHead, wanted: Described): boolean =>
  head.application === wanted.application &&
  head.table === wanted.table &&
  head.isDryRun === wanted.isDryRun &&
  head.environment === wanted.environment;

const linesOf = (path: string) => createInterface({ input: createReadStream(path), crlfDelay: Infinity });

/** The head of a journal whose run is not finished; null: there is none. */
const unfinished = async (path: string, wanted: Described): Promise<JournalHead | null> => {
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
 * `.previous`.
 */
export const openJournal = async (
  path: string,
  wanted: Described,
  fresh: Pick<JournalHead, "run" | "startedAt">,
  apply: (entry: JournalEntry) => void,
): Promise<JournalFile> => {
  const known = await unfinished(path, wanted);
  if (known !== null) await readJournal(linesOf(path), apply);
  else if (existsSync(path)) renameSync(path, `${path}.previous`);
  const file = openSync(path, "a", 0o600);
  const write = (line: unknown): void => void writeSync(file, `${JSON.stringify(line)}\n`);
  const head = known ?? { ...wanted, ...fresh };
  // A killed run may have cut its last line off.
  if (known !== null) writeSync(file, "\n");
  else write(head);
  return {
    head,
    isResumed: known !== null,
    record: write,
    finish: (finishedAt) => write({ finishedAt }),
    close: () => closeSync(file),
  };
};
