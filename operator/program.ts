import { Command, CommanderError } from "commander";
import { requireTableFormat } from "../lib/table/dynamodb/table.ts";
import { COMMANDS, GROUPS } from "./commands/all.ts";
import type { Dialogue } from "./commands/command.ts";
import { connect, type Connection, type EnvironmentVariables, tableName } from "./connection.ts";
import { OperatorError, sentenceOf } from "./operator-error.ts";
import { type Effects, openSession } from "./session.ts";
import { takenByNpm } from "./taken-by-npm.ts";
import { jsonText, linesText } from "./text/answer.ts";

export interface World extends Effects {
  readonly environment: EnvironmentVariables;
  /** Standard output: results, and requested help. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Resolves when the user stops a command that runs until then; unset: at once. */
  readonly untilStopped?: () => Promise<void>;
  /** Asks the user a yes/no question; null if nobody can be asked. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
  /** Whether standard error is a terminal, whose last line can be overwritten; unset: no. */
  readonly isTerminal?: boolean;
}

const PROGRAM = "customer-entitlements";

/** Options that npm has itself, which may come from `.npmrc`. */
const OPTIONS_OF_NPM = new Set(["yes", "scope", "dry-run"]);

/** Options, without dashes, that only npm can have taken. */
const optionNames = (): readonly string[] =>
  [
    "table",
    "port",
    ...COMMANDS.flatMap(({ options }) => Object.values(options).map(({ option }) => option.name())),
  ].filter((name) => !OPTIONS_OF_NPM.has(name));

/** Whether these words ask for JSON. After `--` nothing is an option. */
const wantsJson = (words: readonly string[]): boolean =>
  words.slice(0, words.includes("--") ? words.indexOf("--") : undefined).includes("--json");

type ErrorLine = (kind: "progress" | "warning", line: string) => void;

const dialogueOf = (
  { ask, err, isTerminal }: World,
  { isJson, yes }: { readonly isJson: boolean; readonly yes: boolean },
  errorLine: ErrorLine,
): Dialogue => {
  const progress = (line: string): void => errorLine("progress", line);
  return {
    confirm: async (what) => {
      if (yes) return;
      if (ask === null) throw new OperatorError(`${what} Nothing was changed: add --yes to do it.`);
      progress(what);
      if (!(await ask("Do it? (yes/no) "))) throw new OperatorError("Nothing was changed.");
    },
    progress,
    terminal: isJson || isTerminal !== true ? null : err,
  };
};

const addCommands = (
  program: Command,
  run: (defined: (typeof COMMANDS)[number], texts: Readonly<Record<string, unknown>>) => Promise<void>,
): void => {
  const groups = new Map(
    Object.entries(GROUPS).map(([name, about]) => [name, program.command(name).description(about)]),
  );
  for (const defined of COMMANDS) {
    const [group = "", verb = ""] = defined.name.split(" ");
    const added = (groups.get(group) ?? program).command(verb).description(defined.about);
    for (const { name, about } of Object.values(defined.takes)) added.argument(name, about);
    for (const { option } of Object.values(defined.options)) added.addOption(option);
    added.action(async () => {
      const taken = Object.keys(defined.takes).map((name, index) => [name, added.processedArgs[index]]);
      await run(defined, { ...added.opts(), ...Object.fromEntries(taken) });
    });
  }
};

const readPort = (text: string): number => {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new OperatorError("--port must be a number up to 65535; 0 takes any free one.");
  return port;
};

const addConsoleCommand = (
  program: Command,
  world: World,
  connected: (act: (connection: Connection) => Promise<void>) => Promise<void>,
  warn: (line: string) => void,
): void => {
  program
    .command("console")
    .description("serve a page on this machine: accounts and applications, and what the commands do")
    .option("--port <number>", "any free one by default", "0")
    .action(({ port }: { readonly port: string }) =>
      connected(async (connection) => {
        // Loaded only here: no other command serves or bundles anything.
        const { serveConsole } = await import("./console/server.ts");
        const served = await serveConsole(connection, world, readPort(port), warn);
        world.out(
          `${served.address}\n\nOpen this address: it works once, for one browser. Ctrl-C ends the console.\n`,
        );
        try {
          await world.untilStopped?.();
        } finally {
          await served.stop();
        }
      }),
    );
};

/** The program's commands throw; {@link runOperator} turns errors into a message and an exit code. */
const createProgram = (
  world: World,
  { isJson, unfinished }: { readonly isJson: boolean; readonly unfinished: () => void },
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
  const errorLine: ErrorLine = (kind, line) =>
    world.err(isJson ? `${JSON.stringify({ [kind]: line })}\n` : `${line}\n`);
  const warn = (line: string): void => errorLine("warning", line);
  const connected = async <Done>(act: (connection: Connection) => Promise<Done>): Promise<Done> => {
    const { table } = program.opts<{ table?: string }>();
    const connection = await connect(tableName(table, world.environment), world.environment);
    try {
      await requireTableFormat(connection.store);
      return await act(connection);
    } catch (error) {
      throw new OperatorError(sentenceOf(error, connection), { cause: error });
    } finally {
      connection.close();
    }
  };
  addCommands(program, async (defined, texts) => {
    const dialogue = dialogueOf(world, { isJson, yes: texts["yes"] === true }, errorLine);
    const answer = await defined.run(dialogue, texts, (act) =>
      connected(async (connection) => act(await openSession(connection, world, warn))),
    );
    if (answer.unfinished) unfinished();
    world.out(`${isJson ? jsonText(answer.json, 2) : linesText(answer.text)}\n`);
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
  const taken = takenByNpm(world.environment, optionNames());
  if (taken !== null) {
    complain(
      `npm took ${taken} for itself, so nothing was done. Write it after the command: npx --no ${PROGRAM} <command> ${taken}, or npm run --silent operator -- <command> ${taken}.`,
    );
    return 1;
  }
  let code = 0;
  try {
    const program = createProgram(world, { isJson, unfinished: () => (code = 1) });
    await program.parseAsync([...words], { from: "user" });
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
