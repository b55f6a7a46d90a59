import { closeSync, createReadStream, existsSync, openSync, renameSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  readJournal,
  type JournalEntry,
  type JournalHead,
} from "../../../lib/administration/import/journal.ts";
import { OperatorError } from "../../operator-error.ts";

type Described = Omit<JournalHead, "run" | "startedAt">;

const isSame = (head: JournalHead, wanted: Described): boolean =>
  (["application", "table", "isDryRun", "environment"] as const).every((name) => head[name] === wanted[name]);

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
 * `.previous`. Each line is written at once, so that a killed run loses only questions.
 */
export const openJournal = async (
  path: string,
  wanted: Described,
  fresh: Pick<JournalHead, "run" | "startedAt">,
  apply: (entry: JournalEntry) => void,
) => {
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
    record: (entry: JournalEntry): void => write(entry),
    /** Ends the run: the next one asks anew. */
    finish: (finishedAt: number): void => write({ finishedAt }),
    close: () => closeSync(file),
  };
};
