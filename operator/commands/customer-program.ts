import type { Command } from "commander";
import type { DestructiveOptions } from "./acting.ts";
import { eraseCustomer, findCustomer, showCustomer, unlinkCustomer, type UnlinkOptions } from "./customer.ts";
import { acting, destructive, type Frame } from "./frame.ts";
import { refreshCustomer, type CustomerRefreshOptions } from "./refresh.ts";

/** Defines the commands of customers. */
export const addCustomerCommands = (program: Command, { answer, confirmation }: Frame): void => {
  const customer = program.command("customer").description("customers of an application");
  customer
    .command("show")
    .description("show a customer's link, identities and purchases")
    .argument("<application>", "the application's identifier")
    .argument("<customer>", "the customer's identifier")
    .action((applicationText: string, customerText: string) =>
      answer((session) => showCustomer(session, applicationText, customerText)),
    );
  acting(customer.command("refresh"))
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
};
