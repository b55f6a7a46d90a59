import type { Command } from "commander";
import {
  eraseAccount,
  exportAccount,
  showAccount,
  unlinkAccount,
  type AccountUnlinkOptions,
} from "./account.ts";
import type { ActingOptions, DestructiveOptions } from "./acting.ts";
import type { PageOptions } from "../text/page.ts";
import { acting, destructive, type Frame } from "./frame.ts";

/** Defines the commands of accounts. */
export const addAccountCommands = (program: Command, { answer, confirmation }: Frame): void => {
  const account = program.command("account").description("accounts of an application");
  account
    .command("show")
    .description("show an account's entitlements, customers and purchases, and why")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier, as the application gives it")
    .option("--page <number>", "the page of its purchases; 1 by default")
    .option("--per-page <number>", "purchases on a page; 50 by default")
    .action((applicationText: string, accountText: string, options: PageOptions) =>
      answer((session) => showAccount(session, applicationText, accountText, options)),
    );

  acting(account.command("export"))
    .description("export everything known about an account, as JSON")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .action((applicationText: string, accountText: string, options: ActingOptions) =>
      answer((session) => exportAccount(session, applicationText, accountText, options)),
    );
  destructive(account.command("unlink"))
    .description("unlink the customers that only clients, without a credential, have claimed for an account")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .requiredOption("--asserted-by <who>", "client")
    .action((applicationText: string, accountText: string, options: AccountUnlinkOptions) =>
      answer((session) => unlinkAccount(session, confirmation, applicationText, accountText, options)),
    );
  destructive(account.command("erase"))
    .description("erase every customer of an account")
    .argument("<application>", "the application's identifier")
    .argument("<account>", "the account's identifier")
    .action((applicationText: string, accountText: string, options: DestructiveOptions) =>
      answer((session) => eraseAccount(session, confirmation, applicationText, accountText, options)),
    );
};
