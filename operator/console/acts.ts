import * as z from "zod";
import { COMMANDS } from "../commands/all.ts";
import type { Dialogue } from "../commands/command.ts";
import type { Session } from "../session.ts";
import { linesText } from "../text/answer.ts";

const text = z.string().max(4096);

const act = z.enum([
  "customer unlink",
  "customer erase",
  "customer refresh",
  "account unlink",
  "account erase",
  "application refresh",
  "application retell",
  "credential issue",
  "credential revoke",
  "destination rotate",
  "destination resume",
  "destination resend",
]);

/** A command with its arguments and options by name, and the question that was shown and confirmed. */
export const actRequest = z.strictObject({
  act: z.object({ act }).catchall(z.union([text, z.array(text)])),
  confirmed: text.optional(),
});
export type ActRequest = z.output<typeof actRequest>;

type ActOutcome =
  | { readonly outcome: "asked"; readonly question: string }
  | { readonly outcome: "done"; readonly text: string; readonly progress: readonly string[] };

/** Ends a command at its question, which is still to be confirmed. */
class Unanswered extends Error {}

/**
 * Runs a command as the command line does, with its checks, its audit and its question. A command that asks returns the
 * question and does nothing; repeated with that question as confirmed, it is done. If the question has changed
 * meanwhile, it is asked again, so that only what was shown is done.
 */
export const runAct = async (
  session: Session,
  { act: { act: name, ...texts }, confirmed }: ActRequest,
): Promise<ActOutcome> => {
  const progress: string[] = [];
  const dialogue: Dialogue = {
    confirm: async (question) => {
      if (question !== confirmed) throw new Unanswered(question);
    },
    progress: (line) => void progress.push(line),
    terminal: null,
  };
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`There is no command ${name}.`);
  try {
    const { text } = await command.run(dialogue, texts, (run) => run(session));
    return { outcome: "done", text: linesText(text), progress };
  } catch (error) {
    if (error instanceof Unanswered) return { outcome: "asked", question: error.message };
    throw error;
  }
};
