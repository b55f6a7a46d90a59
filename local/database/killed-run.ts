import { createInterface } from "node:readline/promises";
import { endOrphan, OrphanedDatabaseError } from "./folder-lock.ts";

/** The terminal that a question is put to. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Whether the answer is `yes`. Without an answer (Ctrl-C, Ctrl-D, the end of the input) it is not. */
export const confirm = async (question: string, { input, output }: Terminal): Promise<boolean> => {
  const lines = createInterface({ input, output });
  const closed = new Promise<string>((resolve) => void lines.once("close", () => resolve("")));
  try {
    const answer = await Promise.race([lines.question(question).catch(() => ""), closed]);
    return answer.trim().toLowerCase() === "yes";
  } finally {
    lines.close();
  }
};

/**
 * Starts, and offers to end the database that a killed run has left on the data folder.
 *
 * @param ask puts a message and a question to the user; null: there is no terminal
 * @returns null if the user declines
 * @throws OrphanedDatabaseError if there is no terminal
 */
export const startAfterKilledRun = async <Service>(
  start: () => Promise<Service>,
  ask: ((message: string, question: string) => Promise<boolean>) | null,
): Promise<Service | null> => {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof OrphanedDatabaseError) || ask === null) throw error;
    if (!(await ask(error.message, "End it now? (yes/no) "))) return null;
    await endOrphan(error);
    return start();
  }
};
