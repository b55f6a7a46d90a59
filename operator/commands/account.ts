import { concerns, type AuditRecord } from "../../lib/administration/reports/audit.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { CustomerId } from "../../lib/identifiers.ts";
import { presentAccount } from "../text/account.ts";
import { counted, type Answer } from "../text/answer.ts";
import { soughtAccount } from "./audit.ts";
import { confirm, type Confirmation } from "./confirmation.ts";
import { customerReportJson } from "./customer.ts";
import {
  authorityOf,
  recordAct,
  TOMBSTONE_DAYS,
  type ActingOptions,
  type DestructiveOptions,
} from "./acting.ts";
import { EVERYTHING, readPage, type PageOptions } from "../text/page.ts";
import { OperatorError } from "../operator-error.ts";
import { toldJson } from "../text/told.ts";
import {
  findApplication,
  operationsOf,
  readAccountIdentifier,
  readApplicationIdentifier,
  type Session,
} from "../session.ts";
import type { Command } from "commander";
import { ACCOUNT, acting, APPLICATION, destructive, type Frame } from "./frame.ts";

/** Shows an account, even one that was never seen: its entitlements, and its purchases in pages. */
export const showAccount = async (
  session: Session,
  applicationText: string,
  accountText: string,
  options: PageOptions,
): Promise<Answer> => {
  const page = readPage(options);
  const identifier = readApplicationIdentifier(applicationText);
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, identifier);
  const report = await session.accountReport(application, account);
  return presentAccount(report, application, session.moment, {
    text: page,
    // Without a requested page, JSON contains everything.
    json: options.page === undefined && options.perPage === undefined ? EVERYTHING : page,
  });
};

/** An audit entry for the exported person: without the operator's AWS identity, and without hashes. */
const exportedEntry = ({ moment, action, customer, by, reason, what }: AuditRecord) => ({
  moment: isoTime(moment),
  action,
  customer,
  by,
  reason,
  what,
});

/** Exports everything known about an account, always as JSON. The export is recorded in the audit. */
export const exportAccount = async (
  session: Session,
  applicationText: string,
  accountText: string,
  options: ActingOptions,
): Promise<Answer> => {
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const operations = operationsOf(session);
  await recordAct(session, application.identifier, options, "export", {
    accounts: await session.hashAccounts(application.identifier, [account]),
    what: ["begun: everything known of the account"],
  });
  const report = await session.accountReport(application, account);
  const customers = await Promise.all(
    report.customers.map(({ customerIdentifier }) =>
      operations.showCustomer(application, customerIdentifier),
    ),
  );
  const audit = await session.audit.of(application.identifier);
  const sought = await soughtAccount(session, application, account, report.customers);
  const json = {
    applicationIdentifier: application.identifier,
    applicationAccountIdentifier: account,
    exportedAt: isoTime(session.moment),
    entitlements: report.entitlements,
    told: toldJson(report.told),
    customers: customers.filter((customer) => customer !== null).map(customerReportJson),
    audit: audit.filter((one) => concerns(sought, one) === "account").map(exportedEntry),
  };
  return { json, text: JSON.stringify(json, null, 2) };
};

export interface AccountUnlinkOptions extends DestructiveOptions {
  readonly assertedBy: string;
}

/** Unlinks the customers of an account whose links only clients have asserted. */
export const unlinkAccount = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  accountText: string,
  options: AccountUnlinkOptions,
): Promise<Answer> => {
  const authority = await authorityOf(session, options);
  if (options.assertedBy !== "client")
    throw new OperatorError(
      "--asserted-by must be client; unlink customers that a credential has linked one by one.",
    );
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const report = await session.accountReport(application, account);
  const claimed = report.customers.filter(({ assertedBy }) => assertedBy === "client");
  if (claimed.length > 0)
    await confirm(
      confirmation,
      options,
      `This unlinks ${counted(claimed.length, "customer")}, which only clients have claimed, from account ${account} of ${application.name}.`,
    );
  const unlinked: CustomerId[] = [];
  for (const { customerIdentifier } of claimed) {
    const done = await operationsOf(session).unlinkCustomer(
      application.identifier,
      customerIdentifier,
      authority,
      { expected: { account, assertedBy: "client" } },
    );
    // A credential has confirmed the link in the meantime: it stays.
    if (done?.outcome !== "unlinked") continue;
    unlinked.push(customerIdentifier);
    confirmation.progress(`unlinked ${unlinked.length} of ${counted(claimed.length, "customer")}`);
  }
  return {
    json: { applicationAccountIdentifier: account, unlinkedCustomers: unlinked },
    text:
      unlinked.length === 0
        ? `Account ${account} has no customer that only a client has claimed.`
        : `${counted(unlinked.length, "customer")} of account ${account} ${unlinked.length === 1 ? "is" : "are"} no longer linked to it.`,
  };
};

/** Erases every customer of an account, and its pending store requests. */
export const eraseAccount = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  accountText: string,
  options: DestructiveOptions,
): Promise<Answer> => {
  const authority = await authorityOf(session, options);
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const { customers } = await session.accountReport(application, account);
  const purchases = customers.reduce((sum, customer) => sum + customer.purchases.length, 0);
  const refused =
    customers.length === 0
      ? ""
      : ` They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them back.`;
  await confirm(
    confirmation,
    options,
    `This erases account ${account} of ${application.name}: ${counted(customers.length, "customer")} with ${counted(purchases, "purchase")}, and its pending store requests.${refused}`,
  );
  const operations = operationsOf(session);
  const erased: CustomerId[] = [];
  for (const { customerIdentifier } of customers) {
    // After an interrupted erasure the account no longer lists the customer; this line names it, to complete it.
    confirmation.progress(`erasing customer ${customerIdentifier}`);
    const done = await operations.eraseCustomer(
      application.identifier,
      customerIdentifier,
      authority,
      () => undefined,
      { account },
    );
    // The customer has left the account since the report.
    if (done === null) continue;
    erased.push(customerIdentifier);
    confirmation.progress(`erased ${erased.length} of ${counted(customers.length, "customer")}`);
  }
  const requests = await operations.forgetAccountRequests(application.identifier, account, authority);
  const deleted = requests === 0 ? "" : " Its pending store requests are deleted.";
  return {
    json: { applicationAccountIdentifier: account, erasedCustomers: erased },
    text:
      erased.length === 0
        ? `No customer is linked to account ${account}.${deleted} To complete an interrupted erasure, run customer erase for the customers that application audit lists.`
        : `Account ${account} is erased: ${counted(erased.length, "customer")}.`,
  };
};

/** Defines the commands of accounts. */
export const addAccountCommands = (program: Command, { answer, confirmation }: Frame): void => {
  const account = program.command("account").description("accounts of an application");
  account
    .command("show")
    .description("show an account's entitlements, customers and purchases, and why")
    .argument(...APPLICATION)
    .argument("<account>", "the account's identifier, as the application gives it")
    .option("--page <number>", "the page of its purchases; 1 by default")
    .option("--per-page <number>", "purchases on a page; 50 by default")
    .action((applicationText: string, accountText: string, options: PageOptions) =>
      answer((session) => showAccount(session, applicationText, accountText, options)),
    );

  acting(account.command("export"))
    .description("export everything known about an account, as JSON")
    .argument(...APPLICATION)
    .argument(...ACCOUNT)
    .action((applicationText: string, accountText: string, options: ActingOptions) =>
      answer((session) => exportAccount(session, applicationText, accountText, options)),
    );
  destructive(account.command("unlink"))
    .description("unlink the customers that only clients, without a credential, have claimed for an account")
    .argument(...APPLICATION)
    .argument(...ACCOUNT)
    .requiredOption("--asserted-by <who>", "client")
    .action((applicationText: string, accountText: string, options: AccountUnlinkOptions) =>
      answer((session) => unlinkAccount(session, confirmation, applicationText, accountText, options)),
    );
  destructive(account.command("erase"))
    .description("erase every customer of an account")
    .argument(...APPLICATION)
    .argument(...ACCOUNT)
    .action((applicationText: string, accountText: string, options: DestructiveOptions) =>
      answer((session) => eraseAccount(session, confirmation, applicationText, accountText, options)),
    );
};
