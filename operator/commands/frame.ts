import type { Command } from "commander";
import type { Answer } from "../text/answer.ts";
import type { Confirmation } from "./confirmation.ts";
import type { Session } from "../session.ts";

/** Shared parts of the program's commands. */
export interface Frame {
  /** Runs a command on the table, and writes its answer. */
  readonly answer: (act: (session: Session) => Promise<Answer>) => Promise<void>;
  readonly confirmation: Confirmation;
}

export const YES = "--yes";

/** Arguments of many commands: name and description. */
export const APPLICATION = ["<application>", "the application's identifier"] as const;
export const ACCOUNT = ["<account>", "the account's identifier"] as const;
export const DESTINATION = ["<name>", "the destination's name in the manifest"] as const;
export const CUSTOMER = ["<customer>", "the customer's identifier"] as const;

/** Adds the option of a command that changes something. */
export const acting = (command: Command): Command =>
  command.option("--by <name>", "who, for the audit; your user name by default");

/** Adds the options of a destructive command. */
export const destructive = (command: Command): Command =>
  acting(command.requiredOption("--reason <text>", "why, for the audit")).option(YES, "do it without asking");
