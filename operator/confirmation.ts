import { OperatorError } from "./operator-error.ts";

/** How a command that takes something away makes sure that it is meant. */
export interface Confirmation {
  /** Asks a person; null where there is nobody to ask. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
  /** Tells a person how far long work is. */
  readonly progress: (line: string) => void;
}

export interface ConfirmationOptions {
  readonly yes?: true;
}

/** Shows what will be done, and asks whether it is meant, unless `--yes` says so. */
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
