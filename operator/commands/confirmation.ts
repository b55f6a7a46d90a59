import { OperatorError } from "../operator-error.ts";

/** Confirmation of destructive commands. */
export interface Confirmation {
  /** Asks the user; null if nobody can be asked. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
  /** Reports progress to the user. */
  readonly progress: (line: string) => void;
}

export interface ConfirmationOptions {
  readonly yes?: true;
}

/**
 * Shows what will be done and asks for confirmation, unless `--yes` is given.
 *
 * @throws OperatorError if the user declines or nobody can be asked
 */
export const confirm = async (
  { ask, progress }: Confirmation,
  { yes }: ConfirmationOptions,
  what: string,
): Promise<void> => {
  if (yes) return;
  if (ask === null) throw new OperatorError(`${what} Nothing was done: add --yes to do it.`);
  progress(what);
  if (!(await ask("Do it? (yes/no) "))) throw new OperatorError("Nothing was done.");
};
