import { Command, CommanderError } from "commander";
import type { Instant } from "../lib/entitlements/time.ts";
import { takenByNpm } from "../lib/taken-by-npm.ts";
import { requireTableFormat } from "../lib/table/format.ts";
import {
  eraseAccount,
  exportAccount,
  showAccount,
  unlinkAccount,
  type AccountUnlinkOptions,
  type ComposeAccountReport,
} from "./account-commands.ts";
import type { Answer } from "./answer.ts";
import { applyApplication } from "./apply-command.ts";
import { findApplicationOf, listApplications, showApplication, showAudit } from "./application-commands.ts";
import { connect, tableName, type Environment } from "./connection.ts";
import {
  eraseCustomer,
  findCustomer,
  showCustomer,
  unlinkCustomer,
  type UnlinkOptions,
} from "./customer-commands.ts";
import type { Confirmation, ConfirmationOptions } from "./confirmation.ts";
import { issueApiKey, listCredentials, revokeCredential } from "./credential-commands.ts";
import { addDestinationCommands } from "./destination-program.ts";
import type { DestructiveOptions } from "./destructive.ts";
import type { PageOptions } from "./page.ts";
import { OperatorError, sentenceOf } from "./operator-error.ts";
import {
  refreshApplication,
  refreshCustomer,
  type ApplicationRefreshOptions,
  type CustomerRefreshOptions,
} from "./refresh-commands.ts";
import { reproject, type ReprojectOptions } from "./reproject-command.ts";
import { retell, type RetellOptions } from "./retell-command.ts";
import { openSession, type Session } from "./session.ts";

/** The program's dependencies. */
export interface World {
  readonly environment: Environment;
  readonly now: () => Instant;
  /** Standard output: results, and requested help. */
  readonly out: (text: string) => void;
  /** Standard error. */
  readonly err: (text: string) => void;
  readonly composeAccountReport: ComposeAccountReport;
  /** Waits as long as the owner index may lag behind the table. */
  readonly waitForIndex: () => Promise<void>;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Asks the user a yes/no question; null if nobody can be asked. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
}

interface GlobalOptions {
  readonly json?: true;
  readonly table?: string;
}

const PROGRAM = "customer-entitlements";

const YES = "--yes";

/** The options that npm does not have itself. */
const OPTIONS_NOT_OF_NPM: readonly string[] =
  "table application expires label reason by to asserted-by store since after wait".split(" ");

/** Whether these words ask for JSON. After `--` nothing is an option. */
const wantsJson = (words: readonly string[]): boolean =>
  words.slice(0, words.includes("--") ? words.indexOf("--") : undefined).includes("--json");

/** Adds the options of a command that takes something away. */
const destructive = (command: Command): Command =>
  command
    .requiredOption("--reason <text>", "why, for the audit")
    .option("--by <name>", "who, for the audit; your user name by default")
    .option(YES, "do it without asking");

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value];

/**
 * Defines the operator's commands. They throw; {@link runOperator} turns errors into a message and an exit code.
 *
 * @param unfinished called by a command that is done, and of which something still waits
 */
const createProgram = (world: World, isJson: boolean, unfinished: () => void): Command => {
  const program = new Command(PROGRAM)
    .description(
      "Configures applications, issues their API keys, and inspects and changes accounts and customers.",
    )
    .option("--json", "answer with one JSON document")
    .option("--table <name>", "the service's table (or TABLE_NAME)")
    .exitOverride()
    // The error itself is written by runOperator where it is to be JSON.
    .configureOutput({ writeOut: world.out, writeErr: isJson ? () => undefined : world.err })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError();

  const answer = async (act: (session: Session) => Promise<Answer>): Promise<void> => {
    const { json, table } = program.opts<GlobalOptions>();
    const connection = await connect(tableName(table, world.environment), world.environment);
    try {
      await requireTableFormat(connection.store);
      const answered = await act(openSession(connection, world));
      if (answered.unfinished) unfinished();
      world.out(`${json ? JSON.stringify(answered.json, null, 2) : answered.text}\n`);
    } catch (error) {
      throw new OperatorError(sentenceOf(error, connection), { cause: error });
    } finally {
      connection.close();
    }
  };

  const confirmation: Confirmation = {
    ask: world.ask,
    progress: (line) => world.err(isJson ? `${JSON.stringify({ progress: line })}\n` : `${line}\n`),
  };

  const application = program
    .command("application")
    .description("applications: their stores, entitlements and products");
  application
    .command("apply")
    .description("create the application that a manifest describes, or update it to match")
    .argument("<file>", "the manifest, YAML")
    .option(YES, "do not ask, even if customers can lose access")
    .action((file: string, options: ConfirmationOptions) =>
      answer((session) => applyApplication(session, confirmation, file, options)),
    );
  application
    .command("list")
    .description("list the applications of the table")
    .action(() => answer(listApplications));
  application
    .command("show")
    .description("show an application as a manifest")
    .argument("<application>", "the application's identifier")
    .action((identifier: string) => answer((session) => showApplication(session, identifier)));
  application
    .command("reproject")
    .description(
      "recompute every customer's holdings from its purchases, after the catalog maps more products",
    )
    .argument("<application>", "the application's identifier")
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: ReprojectOptions) =>
      answer((session) => reproject(session, confirmation, identifier, options)),
    );
  application
    .command("retell")
    .description(
      "look at every account again, and tell those that differ, after the catalog or the destinations changed",
    )
    .argument("<application>", "the application's identifier")
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: RetellOptions) =>
      answer((session) => retell(session, confirmation, identifier, options)),
    );
  application
    .command("refresh")
    .description("ask the stores about the purchases of all customers, one after the other")
    .argument("<application>", "the application's identifier")
    .option("--store <store>", "ask only the ios-store or the android-store")
    .option(
      "--since <time>",
      "leave out purchases verified since then: the time that an interrupted run names; now by default",
    )
    .action((identifier: string, options: ApplicationRefreshOptions) =>
      answer((session) => refreshApplication(session, confirmation, identifier, options)),
    );
  application
    .command("find")
    .description("find the application that has a bundle or a package")
    .argument("<name>", "an iOS-store bundle identifier or an Android-store package name")
    .action((name: string) => answer((session) => findApplicationOf(session, name)));
  application
    .command("audit")
    .description("list operators' changes to its customers, and transfers: when, by whom, and why")
    .argument("<application>", "the application's identifier")
    .action((identifier: string) => answer((session) => showAudit(session, identifier)));

  const credential = program.command("credential").description("API keys of an application");
  credential
    .command("issue")
    .description("issue an API key, which is shown only once")
    .requiredOption("--application <identifier>", "the application's identifier")
    .requiredOption(
      "--scope <scope>",
      "customers:write, entitlements:read or changes:read; may be repeated",
      collect,
    )
    .option("--expires <time or duration>", "such as 2027-01-31T00:00:00Z or P90D; never by default")
    .option("--label <text>", "a label of your choice")
    .action((options: Parameters<typeof issueApiKey>[1]) =>
      answer((session) => issueApiKey(session, options)),
    );
  credential
    .command("list")
    .description("list the API keys of an application, without their secrets")
    .requiredOption("--application <identifier>", "the application's identifier")
    .action((options: Parameters<typeof listCredentials>[1]) =>
      answer((session) => listCredentials(session, options)),
    );
  credential
    .command("revoke")
    .description("revoke an API key permanently")
    .argument("<keyIdentifier>", "the 16 digits between the underscores of the API key")
    .option("--application <identifier>", "revoke it only if it belongs to this application")
    .action((key: string, options: Parameters<typeof revokeCredential>[2]) =>
      answer((session) => revokeCredential(session, key, options)),
    );

  addDestinationCommands(program, { answer, confirmation });

  const account = program.command("account").description("accounts of an application");
  account
    .command("show")
    .description("show an account's entitlements, customers and purchases, and why")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier, as the application gives it")
    .option("--page <number>", "the page of its purchases; 1 by default")
    .option("--per-page <number>", "purchases on a page; 50 by default")
    .action((applicationText: string, accountText: string, options: PageOptions) =>
      answer((session) =>
        showAccount(session, world.composeAccountReport, applicationText, accountText, options),
      ),
    );

  account
    .command("export")
    .description("export everything known about an account, as JSON")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .action((applicationText: string, accountText: string) =>
      answer((session) => exportAccount(session, world.composeAccountReport, applicationText, accountText)),
    );
  destructive(account.command("unlink"))
    .description("unlink the customers that only clients, without a credential, have claimed for an account")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .requiredOption("--asserted-by <who>", "client")
    .action((applicationText: string, accountText: string, options: AccountUnlinkOptions) =>
      answer((session) =>
        unlinkAccount(
          session,
          confirmation,
          world.composeAccountReport,
          applicationText,
          accountText,
          options,
        ),
      ),
    );
  destructive(account.command("erase"))
    .description("erase every customer of an account")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .action((applicationText: string, accountText: string, options: DestructiveOptions) =>
      answer((session) =>
        eraseAccount(
          session,
          confirmation,
          world.composeAccountReport,
          applicationText,
          accountText,
          options,
        ),
      ),
    );

  const customer = program.command("customer").description("customers of an application");
  customer
    .command("show")
    .description("show a customer's link, identities and purchases")
    .argument("<application>", "the application's identifier")
    .argument("<customer>", "the customer's identifier")
    .action((applicationText: string, customerText: string) =>
      answer((session) => showCustomer(session, applicationText, customerText)),
    );
  customer
    .command("refresh")
    .description("ask the stores about a customer's purchases now, and show what they said")
    .argument("<application>", "the application's identifier")
    .argument("<customer>", "the customer's identifier")
    .option("--no-wait", "return once they are queued")
    .action((applicationText: string, customerText: string, options: CustomerRefreshOptions) =>
      answer((session) => refreshCustomer(session, confirmation, applicationText, customerText, options)),
    );
  customer
    .command("find")
    .description("find the customers that have a purchase")
    .argument("<application>", "the application's identifier")
    .argument("<name>", "an original transaction id, app transaction id, purchase token or purchase key")
    .action((applicationText: string, name: string) =>
      answer((session) => findCustomer(session, applicationText, name)),
    );
  destructive(customer.command("unlink"))
    .description("unlink a customer from its account, or move it to another one")
    .argument("<application>", "the application's identifier")
    .argument("<customer>", "the customer's identifier")
    .option("--to <account>", "the account to move it to, in the same step")
    .action((applicationText: string, customerText: string, options: UnlinkOptions) =>
      answer((session) => unlinkCustomer(session, confirmation, applicationText, customerText, options)),
    );
  destructive(customer.command("erase"))
    .description("erase a customer with its purchases and identities")
    .argument("<application>", "the application's identifier")
    .argument("<customer>", "the customer's identifier")
    .action((applicationText: string, customerText: string, options: DestructiveOptions) =>
      answer((session) => eraseCustomer(session, confirmation, applicationText, customerText, options)),
    );

  return program;
};

/**
 * Runs one command and returns its exit code: 0 if it was done, 1 if not, with the reason on standard error, or if
 * something of it still waits. With `--json`, each line on standard error is JSON too: `{ "error": … }`, and
 * `{ "progress": … }` before it.
 */
export const runOperator = async (words: readonly string[], world: World): Promise<number> => {
  const isJson = wantsJson(words);
  const complain = (message: string): void =>
    world.err(`${isJson ? JSON.stringify({ error: message }) : message}\n`);
  const taken = takenByNpm(world.environment, OPTIONS_NOT_OF_NPM);
  if (taken !== null) {
    complain(
      `npm has taken ${taken} for itself, and nothing was done: write npx ${PROGRAM} …, or npm run operator -- … with the -- before the command.`,
    );
    return 1;
  }
  let code = 0;
  try {
    await createProgram(world, isJson, () => (code = 1)).parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has written the others by itself; its code 0 is help that was asked for.
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
