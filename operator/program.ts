import { Command, CommanderError } from "commander";
import type { Instant } from "../lib/entitlements/time.ts";
import { takenByNpm } from "./taken-by-npm.ts";
import { requireTableFormat } from "../lib/table/dynamodb/format.ts";
import { addAccountCommands } from "./commands/account.ts";
import type { Answer } from "./text/answer.ts";
import { addApplicationCommands } from "./commands/application.ts";
import type { Confirmation } from "./commands/confirmation.ts";
import { connect, tableName, type Connection, type EnvironmentVariables } from "./connection.ts";
import { addConsoleCommand } from "./commands/console.ts";
import { addCredentialCommands } from "./commands/credential.ts";
import { addCustomerCommands } from "./commands/customer.ts";
import { addDestinationCommands } from "./commands/destination.ts";
import { addImportCommands } from "./import/program.ts";
import { OperatorError, sentenceOf } from "./operator-error.ts";
import { openSession } from "./open-session.ts";
import type { Session } from "./session.ts";

/** The program's dependencies. */
export interface World {
  readonly environment: EnvironmentVariables;
  readonly now: () => Instant;
  /** Standard output: results, and requested help. */
  readonly out: (text: string) => void;
  /** Standard error. */
  readonly err: (text: string) => void;
  /** Whether standard error is a terminal, whose last line can be overwritten; unset: no. */
  readonly isTerminal?: boolean;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Resolves when the user stops a command that runs until then; unset: at once. */
  readonly untilStopped?: () => Promise<void>;
  /** Asks the user a yes/no question; null if nobody can be asked. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
}

interface GlobalOptions {
  readonly json?: true;
  readonly table?: string;
}

const PROGRAM = "customer-entitlements";

/** Options that npm does not have itself. */
const OPTIONS_NOT_OF_NPM: readonly string[] =
  "table application account expires label reason by to asserted-by store since after wait port map manifest rate decide environment limit journal tolerance csv".split(
    " ",
  );

/** Whether these words ask for JSON. After `--` nothing is an option. */
const wantsJson = (words: readonly string[]): boolean =>
  words.slice(0, words.includes("--") ? words.indexOf("--") : undefined).includes("--json");

/**
 * Defines the operator's commands. They throw; {@link runOperator} turns errors into a message and an exit code.
 *
 * @param unfinished called by a command that has ended while part of its work still waits
 */
const createProgram = (
  world: World,
  { isJson }: { readonly isJson: boolean },
  unfinished: () => void,
): Command => {
  const program = new Command(PROGRAM)
    .description(
      "Configures applications, issues their API keys, and inspects and changes accounts and customers.",
    )
    .option("--json", "answer with one JSON document")
    .option("--table <name>", "the service's table (or TABLE_NAME)")
    .exitOverride()
    // In JSON mode, `runOperator` writes the error itself.
    .configureOutput({ writeOut: world.out, writeErr: isJson ? () => undefined : world.err })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError();

  const errorLine = (kind: "progress" | "warning", line: string): void =>
    world.err(isJson ? `${JSON.stringify({ [kind]: line })}\n` : `${line}\n`);
  const warn = (line: string): void => errorLine("warning", line);

  const connected = async (act: (connection: Connection) => Promise<void>): Promise<void> => {
    const { table } = program.opts<GlobalOptions>();
    const connection = await connect(tableName(table, world.environment), world.environment);
    try {
      await requireTableFormat(connection.store);
      await act(connection);
    } catch (error) {
      throw new OperatorError(sentenceOf(error, connection), { cause: error });
    } finally {
      connection.close();
    }
  };

  const write = (answered: Answer): void => {
    if (answered.unfinished) unfinished();
    const { json } = program.opts<GlobalOptions>();
    world.out(`${json ? JSON.stringify(answered.json, null, 2) : answered.text}\n`);
  };
  const answer = async (act: (session: Session) => Promise<Answer>): Promise<void> =>
    connected(async (connection) => {
      const now = await connection.clock(world.now);
      const answered = await act(openSession(connection, { ...world, now, warn }));
      write(answered);
    });
  const offline = async (act: () => Promise<Answer>): Promise<void> => write(await act());

  const confirmation: Confirmation = {
    ask: world.ask,
    progress: (line) => errorLine("progress", line),
  };

  const frame = { answer, confirmation };
  addApplicationCommands(program, frame);
  addCredentialCommands(program, frame);
  addDestinationCommands(program, frame);
  addAccountCommands(program, frame);
  addCustomerCommands(program, frame);
  addImportCommands(program, {
    answer,
    offline,
    environment: world.environment,
    line: confirmation.progress,
    terminal: isJson || world.isTerminal !== true ? null : world.err,
  });
  addConsoleCommand(program, world, connected, warn);
  return program;
};

/**
 * Runs one command and returns its exit code: 0 if it was done; 1 if it failed, with the reason on standard error, or if
 * part of its work still waits. With `--json`, each line on standard error is JSON too: `{ "error": … }`, and
 * `{ "progress": … }` or `{ "warning": … }` before it.
 */
export const runOperator = async (words: readonly string[], world: World): Promise<number> => {
  const isJson = wantsJson(words);
  const complain = (message: string): void =>
    world.err(`${isJson ? JSON.stringify({ error: message }) : message}\n`);
  const taken = takenByNpm(world.environment, OPTIONS_NOT_OF_NPM);
  if (taken !== null) {
    complain(
      `npm took ${taken} for itself, so nothing was done. Write it after the command: npx --no ${PROGRAM} <command> ${taken}, or npm run --silent operator -- <command> ${taken}.`,
    );
    return 1;
  }
  let code = 0;
  try {
    await createProgram(world, { isJson }, () => (code = 1)).parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has written the others itself; its exit code 0 is requested help.
      if (isJson && error.exitCode !== 0)
        complain(
          error.code === "commander.help"
            ? `The command is not complete: ${PROGRAM} --help lists all commands.`
            : error.message.replace(/^error: /, ""),
        );
      return error.exitCode;
    }
    complain(error instanceof OperatorError ? error.message : `The command failed: ${String(error)}`);
    return 1;
  }
};
