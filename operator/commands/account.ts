import { concerns, type AuditRecord } from "../../lib/administration/acts/audit.ts";
import {
  eraseCustomer,
  forgetAccountRequests,
  unlinkCustomer,
} from "../../lib/administration/acts/operations.ts";
import { loadAccountReport } from "../../lib/administration/reports/account-report.ts";
import type { CustomerId } from "../../lib/identifiers.ts";
import { EVERYTHING, presentAccount, readCount, toldJson } from "../text/account.ts";
import { counted, jsonText } from "../text/answer.ts";
import { ACTING, authorityOf, DESTRUCTIVE, recordAct, soughtAccount, TOMBSTONE_DAYS } from "./audit.ts";
import { ACCOUNT, APPLICATION, command, oneOf, optional, required } from "./command.ts";
import { customerReportJson } from "./customer.ts";

const takes = { application: APPLICATION, account: ACCOUNT };

const PURCHASES_ON_A_PAGE = 50;

export const showAccount = command({
  name: "account show",
  about: "show an account's entitlements, customers and purchases, and why",
  takes,
  options: {
    page: optional("--page <number>", "the page of its purchases; 1 by default", readCount),
    perPage: optional("--per-page <number>", "purchases on a page; 50 by default", readCount),
  },
  run: async ({ session, application, account, options: { page: number, perPage: size } }) => {
    const page = { number: number ?? 1, size: size ?? PURCHASES_ON_A_PAGE };
    const report = await loadAccountReport(session, application, account, session.moment);
    return presentAccount(report, application, session.moment, {
      text: page,
      // Without a requested page, JSON contains everything.
      json: number === null && size === null ? EVERYTHING : page,
    });
  },
});

/** An audit entry for the exported person: without the operator's AWS identity, and without hashes. */
const exportedEntry = ({ moment, action, customer, by, reason, what }: AuditRecord) => ({
  moment,
  action,
  customer,
  by,
  reason,
  what,
});

/** Always JSON. The export is recorded in the audit. */
export const exportAccount = command({
  name: "account export",
  about: "export everything known about an account, as JSON",
  takes,
  options: ACTING,
  run: async ({ session, application, account, options }) => {
    await recordAct(session, application, options, "export", {
      accounts: [account],
      what: ["begun: everything known of the account"],
    });
    const report = await loadAccountReport(session, application, account, session.moment);
    const audit = await session.audit.of(application.identifier);
    const sought = await soughtAccount(session, application, account, report.customers);
    const json = {
      applicationIdentifier: application.identifier,
      applicationAccountIdentifier: account,
      exportedAt: session.moment,
      entitlements: report.entitlements,
      told: toldJson(report.told),
      customers: report.customers.map(customerReportJson),
      audit: audit.filter((one) => concerns(sought, one) === "account").map(exportedEntry),
    };
    return { json, text: jsonText(json, 2) };
  },
});

export const unlinkAccount = command({
  name: "account unlink",
  about: "unlink the customers that only clients, without a credential, have claimed for an account",
  takes,
  options: {
    ...DESTRUCTIVE,
    assertedBy: required(
      "--asserted-by <who>",
      "client: what a credential has linked is unlinked customer by customer",
      oneOf(["client"]),
    ),
  },
  run: async ({ session, application, account, options, confirm, progress }) => {
    const authority = await authorityOf(session, options);
    const report = await loadAccountReport(session, application, account, session.moment);
    const claimed = report.customers.filter(({ link }) => link.assertedBy === "client");
    if (claimed.length > 0)
      await confirm(
        `This unlinks ${counted(claimed.length, "customer")}, which only clients have claimed, from account ${account} of ${application.name}.`,
      );
    const unlinked: CustomerId[] = [];
    for (const { customerIdentifier: customer } of claimed) {
      const expected = { account, assertedBy: "client" } as const;
      const { identifier } = application;
      const done = await unlinkCustomer(session, identifier, customer, authority, { expected });
      // A credential has confirmed the link in the meantime: it stays.
      if (done?.outcome !== "unlinked") continue;
      unlinked.push(customer);
      progress(`unlinked ${unlinked.length} of ${counted(claimed.length, "customer")}`);
    }
    return {
      json: { applicationAccountIdentifier: account, unlinkedCustomers: unlinked },
      text:
        unlinked.length === 0
          ? `Account ${account} has no customer that only a client has claimed.`
          : `${counted(unlinked.length, "customer")} of account ${account} ${unlinked.length === 1 ? "is" : "are"} no longer linked to it.`,
    };
  },
});

export const eraseAccount = command({
  name: "account erase",
  about: "erase every customer of an account",
  takes,
  options: DESTRUCTIVE,
  run: async ({ session, application, account, options, confirm, progress }) => {
    const { identifier, name } = application;
    const authority = await authorityOf(session, options);
    const { customers } = await loadAccountReport(session, application, account, session.moment);
    const purchases = customers.reduce((sum, customer) => sum + customer.purchases.length, 0);
    const refused = ` They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them back.`;
    await confirm(
      `This erases account ${account} of ${name}: ${counted(customers.length, "customer")} with ${counted(purchases, "purchase")}, and its pending store requests.${customers.length === 0 ? "" : refused}`,
    );
    const erased: CustomerId[] = [];
    for (const { customerIdentifier: customer } of customers) {
      // After an interrupted erasure the account no longer lists the customer; this line names it, to complete it.
      progress(`erasing customer ${customer}`);
      const done = await eraseCustomer(session, identifier, customer, authority, () => undefined, account);
      // The customer has left the account since the report.
      if (done === null) continue;
      erased.push(customer);
      progress(`erased ${erased.length} of ${counted(customers.length, "customer")}`);
    }
    const requests = await forgetAccountRequests(session, identifier, account, authority);
    const deleted = requests === 0 ? "" : " Its pending store requests are deleted.";
    return {
      json: { applicationAccountIdentifier: account, erasedCustomers: erased },
      text:
        erased.length === 0
          ? `No customer is linked to account ${account}.${deleted} To complete an interrupted erasure, run customer erase for the customers that application audit lists.`
          : `Account ${account} is erased: ${counted(erased.length, "customer")}.`,
    };
  },
});
