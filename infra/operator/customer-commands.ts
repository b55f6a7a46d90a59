import { userInfo } from "node:os";
import * as z from "zod";
import { composeOperations } from "../../lib/service.ts";
import type { CustomerReport } from "../../lib/customers/customer-report.ts";
import { accountIdentifier } from "../../lib/contract/schemas.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { accountId, customerId, type AccountId, type CustomerId } from "../../lib/identifiers.ts";
import { compare } from "../../lib/order.ts";
import type { AuditEntry } from "../../lib/table/operations.ts";
import type { Transfer } from "../../lib/table/records.ts";
import type { ComposeAccountReport } from "./account-commands.ts";
import { columns, indent, type Answer } from "./answer.ts";
import { confirm, type Confirmation, type ConfirmationOptions } from "./confirmation.ts";
import { OperatorError } from "./operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "./session.ts";

export interface DestructiveOptions extends ConfirmationOptions {
  readonly reason: string;
  readonly by?: string;
}

const TEXT_CHARACTERS = 256;

const readText = (name: string, text: string): string => {
  if (text === "" || [...text].length > TEXT_CHARACTERS || /\p{Cc}/u.test(text))
    throw new OperatorError(`${name} has 1 to ${TEXT_CHARACTERS} characters, and no control characters.`);
  return text;
};

const authorityOf = ({ reason, by }: DestructiveOptions) => ({
  reason: readText("--reason", reason),
  by: readText("--by", by ?? userInfo().username),
});

const readCustomer = (text: string): CustomerId => {
  if (!z.uuid().safeParse(text).success)
    throw new OperatorError("A customer's identifier is a UUID: this one is not.");
  return customerId(text.toLowerCase());
};

const readAccount = (text: string): AccountId => {
  const account = accountIdentifier().safeParse(text);
  if (account.success) return accountId(account.data);
  throw new OperatorError(
    `An account's identifier ${account.error.issues[0]?.message ?? "is of another form"}.`,
  );
};

const customerJson = ({ link, createdAt, purchases, ...report }: CustomerReport) => ({
  ...report,
  createdAt: isoTime(createdAt),
  link: link && { ...link, linkedAt: isoTime(link.linkedAt) },
  purchases: purchases.map((purchase) => ({
    ...purchase,
    verifiedAt: purchase.verifiedAt === 0 ? null : isoTime(purchase.verifiedAt),
    lines: purchase.lines.map((line) => ({
      ...line,
      startsAt: line.startsAt === null ? null : isoTime(line.startsAt),
      purchasedAt: line.purchasedAt === null ? null : isoTime(line.purchasedAt),
      endsAt: line.endsAt === null ? null : isoTime(line.endsAt),
      revokedAt: line.revokedAt === null ? null : isoTime(line.revokedAt),
      verifiedAt: isoTime(line.verifiedAt),
    })),
  })),
});

const linkText = ({ link }: Pick<CustomerReport, "link">): string =>
  link === null
    ? "linked to no account"
    : `linked to account ${link.account} since ${isoTime(link.linkedAt)} by a ${link.assertedBy}`;

const loadCustomer = async (
  session: Session,
  applicationText: string,
  customerText: string,
): Promise<{
  readonly application: Awaited<ReturnType<typeof findApplication>>;
  readonly customer: CustomerReport;
}> => {
  const identifier = readCustomer(customerText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const customer = await operationsOf(session).showCustomer(application, identifier);
  if (customer === null)
    throw new OperatorError(`There is no customer ${identifier} in ${application.name}.`);
  return { application, customer };
};

const operationsOf = ({ table, moment }: Session) => composeOperations(table, (): Instant => moment);

/** Shows all that is known of a customer. */
export const showCustomer = async (
  session: Session,
  applicationText: string,
  customerText: string,
): Promise<Answer> => {
  const { application, customer } = await loadCustomer(session, applicationText, customerText);
  const json = customerJson(customer);
  return {
    json: { applicationIdentifier: application.identifier, ...json },
    text: [
      `Customer ${customer.customerIdentifier} of ${application.name}`,
      ...indent([
        `created ${json.createdAt}, ${linkText(customer)}`,
        ...(customer.aliases.length > 0 ? [`merged from ${customer.aliases.join(", ")}`] : []),
        ...customer.identities.map(
          ({ store, kind, environment, value }) => `identity ${store} ${environment} ${kind} ${value}`,
        ),
        ...json.purchases.flatMap(({ store, environment, key, replacedBy, lines }) => [
          `purchase ${store} ${environment} ${key}${replacedBy === null ? "" : `, replaced by ${replacedBy}`}`,
          ...indent(
            lines.map(
              (line) =>
                `${line.productIdentifier}  ${line.startsAt ?? "no start"} to ${line.endsAt ?? "no end"}  ${line.standing}`,
            ),
          ),
        ]),
      ]),
    ].join("\n"),
  };
};

/** Shows who has a purchase, by what the store calls it. */
export const findCustomer = async (
  session: Session,
  applicationText: string,
  name: string,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const { customers, gone, erased } = await operationsOf(session).findCustomersKnownAs(application, name);
  // What was asked for is not repeated: it may be a purchase token.
  if (customers.length + gone.length === 0)
    throw new OperatorError(
      erased
        ? `The customer of ${application.name} who had it was erased; it is refused until ${TOMBSTONE_DAYS} days after that.`
        : `Nobody is known in ${application.name} by that original transaction id, app transaction id, purchase token or key.`,
    );
  return {
    json: {
      applicationIdentifier: application.identifier,
      customers: customers.map(({ identifier, link }) => ({
        customerIdentifier: identifier,
        link: link && { ...link, linkedAt: isoTime(link.linkedAt) },
      })),
      gone,
    },
    text: [
      ...customers.map(
        (customer) => `Customer ${customer.identifier} of ${application.name}, ${linkText(customer)}`,
      ),
      ...gone.map(
        (identifier) =>
          `Customer ${identifier} of ${application.name}, whose erasure broke off: erase it once more`,
      ),
    ].join("\n"),
  };
};

export interface UnlinkOptions extends DestructiveOptions {
  /** The account that the customer moves to, in the same step. */
  readonly to?: string;
}

/** Takes a customer away from its account, or moves it to another one. */
export const unlinkCustomer = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  customerText: string,
  options: UnlinkOptions,
): Promise<Answer> => {
  const authority = authorityOf(options);
  const to = options.to === undefined ? null : readAccount(options.to);
  const { application, customer } = await loadCustomer(session, applicationText, customerText);
  const { customerIdentifier, link } = customer;
  if (link === null && to === null)
    return {
      json: { customerIdentifier, unlinkedFrom: null, linkedTo: null },
      text: `Customer ${customerIdentifier} is linked to no account.`,
    };
  const purchases = `customer ${customerIdentifier} (${customer.purchases.length} purchases)`;
  const from = link === null ? "" : ` away from account ${link.account}`;
  await confirm(
    confirmation,
    options,
    to === null
      ? `This takes ${purchases}${from} of ${application.name}.`
      : `This moves ${purchases}${from} to account ${to} of ${application.name}.`,
  );
  const done = await operationsOf(session).unlinkCustomer(
    application.identifier,
    customerIdentifier,
    authority,
    { to, expected: link },
  );
  if (done?.outcome === "linked_otherwise")
    throw new OperatorError(
      `Nothing was changed: the link of customer ${customerIdentifier} is not what it was when you were asked. Look again.`,
    );
  const account = done?.outcome === "unlinked" ? done.account : null;
  return {
    json: { customerIdentifier, unlinkedFrom: account, linkedTo: to },
    text:
      to !== null
        ? `Customer ${customerIdentifier} is linked to account ${to}.`
        : account === null
          ? `Customer ${customerIdentifier} is linked to no account.`
          : `Customer ${customerIdentifier} is not linked to account ${account} any more.`,
  };
};

export interface AccountUnlinkOptions extends DestructiveOptions {
  readonly assertedBy: string;
}

/** Takes away from an account every customer that clients alone have claimed for it. */
export const unlinkAccount = async (
  session: Session,
  confirmation: Confirmation,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
  options: AccountUnlinkOptions,
): Promise<Answer> => {
  const authority = authorityOf(options);
  if (options.assertedBy !== "client")
    throw new OperatorError("--asserted-by is client: what a credential has linked is unlinked one by one.");
  const account = readAccount(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const report = await composeAccountReport(session.table)(application, account, session.moment);
  const claimed = report.customers.filter(({ assertedBy }) => assertedBy === "client");
  if (claimed.length > 0)
    await confirm(
      confirmation,
      options,
      `This takes ${claimed.length} customers, which only clients have claimed, away from account ${account} of ${application.name}.`,
    );
  const unlinked: CustomerId[] = [];
  for (const { customerIdentifier } of claimed) {
    const done = await operationsOf(session).unlinkCustomer(
      application.identifier,
      customerIdentifier,
      authority,
      { expected: { account, assertedBy: "client" } },
    );
    // What a credential has confirmed meanwhile stays.
    if (done?.outcome !== "unlinked") continue;
    unlinked.push(customerIdentifier);
    confirmation.progress(`unlinked ${unlinked.length} of ${claimed.length} customers`);
  }
  return {
    json: { applicationAccountIdentifier: account, unlinkedCustomers: unlinked },
    text:
      unlinked.length === 0
        ? `Account ${account} has no customer that only a client has claimed.`
        : `${unlinked.length} customers are not linked to account ${account} any more.`,
  };
};

const TOMBSTONE_DAYS = 30;

/** Erases a customer, or completes an erasure that broke off. */
export const eraseCustomer = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  customerText: string,
  options: DestructiveOptions,
): Promise<Answer> => {
  const authority = authorityOf(options);
  const identifier = readCustomer(customerText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const operations = operationsOf(session);
  const customer = await operations.showCustomer(application, identifier);
  const what =
    customer === null
      ? `This completes the erasure of customer ${identifier} of ${application.name}, if any of it is left.`
      : `This erases customer ${customer.customerIdentifier} of ${application.name}, ${linkText(customer)}: ${customer.purchases.length} purchases, ${customer.identities.length} identities, ${customer.aliases.length} aliases. They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them.`;
  await confirm(confirmation, options, what);
  const erased = await operations.eraseCustomer(application.identifier, identifier, authority, (sofar) =>
    confirmation.progress(`erased ${sofar.purchases} purchases, ${sofar.identities} identities`),
  );
  if (erased === null) throw new OperatorError(`There is no customer ${identifier} in ${application.name}.`);
  return {
    json: { customerIdentifier: identifier, erased },
    text: `Customer ${identifier} is erased: ${erased.purchases} purchases, ${erased.identities} identities, ${erased.aliases} aliases.`,
  };
};

/** Erases every customer of an account. */
export const eraseAccount = async (
  session: Session,
  confirmation: Confirmation,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
  options: DestructiveOptions,
): Promise<Answer> => {
  const authority = authorityOf(options);
  const account = readAccount(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const { customers } = await composeAccountReport(session.table)(application, account, session.moment);
  const purchases = customers.reduce((sum, customer) => sum + customer.purchases.length, 0);
  if (customers.length > 0)
    await confirm(
      confirmation,
      options,
      `This erases account ${account} of ${application.name}: ${customers.length} customers with ${purchases} purchases. They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them.`,
    );
  const operations = operationsOf(session);
  const erased: CustomerId[] = [];
  for (const { customerIdentifier } of customers) {
    // Once it has begun, the account does not lead to the customer any more: who breaks off completes it by this.
    confirmation.progress(`erasing customer ${customerIdentifier}`);
    const done = await operations.eraseCustomer(
      application.identifier,
      customerIdentifier,
      authority,
      () => undefined,
      { account },
    );
    // Who has left the account since it was read is somebody else's.
    if (done === null) continue;
    erased.push(customerIdentifier);
    confirmation.progress(`erased ${erased.length} of ${customers.length} customers`);
  }
  return {
    json: { applicationAccountIdentifier: account, erasedCustomers: erased },
    text:
      erased.length === 0
        ? `No customer is linked to account ${account}. An erasure that broke off is completed with customer erase, for the customers that application audit lists.`
        : `Account ${account} is erased: ${erased.length} customers.`,
  };
};

const auditJson = (entry: AuditEntry) => ({ ...entry, moment: isoTime(entry.moment) });

const TRANSFER_REASONS = {
  policy: "the application's transfers policy",
  "claim-gave-way": "a client's claim gave way to a credential",
} as const satisfies Record<Transfer["because"], string>;

const transferEntry = ({ customer, moment, because }: Transfer) => ({
  action: "transfer",
  customer,
  moment: isoTime(moment),
  by: "a link",
  reason: TRANSFER_REASONS[because],
});

/** Who took what away from which customer of an application, when and why, and what links moved; the oldest first. */
export const showAudit = async (session: Session, applicationText: string): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const operations = operationsOf(session);
  const audit = [
    ...(await operations.audit(application.identifier)).map(auditJson),
    ...(await operations.transfers(application.identifier)).map(transferEntry),
  ].sort((a, b) => compare(a.moment, b.moment));
  const heading = ["MOMENT", "ACTION", "CUSTOMER", "BY", "REASON"];
  return {
    json: { applicationIdentifier: application.identifier, audit },
    text:
      audit.length === 0
        ? `Nothing was taken away from any customer of ${application.name}.`
        : columns([
            heading,
            ...audit.map(({ moment, action, customer, by, reason }) => [
              moment,
              action,
              customer,
              by,
              reason,
            ]),
          ]).join("\n"),
  };
};

/** All that is known of an account, as JSON whatever form was asked for. */
export const exportAccount = async (
  session: Session,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
): Promise<Answer> => {
  const account = readAccount(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const operations = operationsOf(session);
  const report = await composeAccountReport(session.table)(application, account, session.moment);
  const customers = await Promise.all(
    report.customers.map(({ customerIdentifier }) =>
      operations.showCustomer(application, customerIdentifier),
    ),
  );
  const audit = await operations.audit(application.identifier);
  const named = new Set<string>(report.customers.map(({ customerIdentifier }) => customerIdentifier));
  const json = {
    applicationIdentifier: application.identifier,
    applicationAccountIdentifier: account,
    exportedAt: isoTime(session.moment),
    entitlements: report.entitlements,
    customers: customers.filter((customer) => customer !== null).map(customerJson),
    audit: audit.filter(({ customer }) => named.has(customer)).map(auditJson),
  };
  return { json, text: JSON.stringify(json, null, 2) };
};

/** Takes the holdings of all customers from their purchases anew. */
export const reproject = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const done = await operationsOf(session).reproject(application, ({ customers, changed }) =>
    progress(`${customers} customers, ${changed} changed`),
  );
  return {
    json: { applicationIdentifier: application.identifier, ...done },
    text: `${done.customers} customers of ${application.name}, ${done.changed} changed.`,
  };
};
