import type { Erasure } from "../../lib/administration/acts/operations.ts";
import type { CustomerReport } from "../../lib/administration/reports/customer-report.ts";
import { referenceText } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { type Answer, counted, indent, timeOrNull } from "../text/answer.ts";
import { askingJson, askingText } from "../text/asking.ts";
import { confirm, type Confirmation } from "./confirmation.ts";
import { authorityOf, TOMBSTONE_DAYS, type DestructiveOptions } from "./acting.ts";
import { OperatorError } from "../operator-error.ts";
import {
  findApplication,
  operationsOf,
  readAccountIdentifier,
  readApplicationIdentifier,
  readCustomerIdentifier,
  type Session,
} from "../session.ts";
import type { Command } from "commander";
import { APPLICATION, CUSTOMER, destructive, type Frame } from "./frame.ts";
import { addCustomerRefresh } from "./refresh.ts";

/** Customer report as JSON. */
export const customerReportJson = ({
  link,
  createdAt,
  purchases,
  asking,
  healths,
  ...report
}: CustomerReport) => ({
  ...report,
  createdAt: isoTime(createdAt),
  link: link && { ...link, linkedAt: isoTime(link.linkedAt) },
  purchases: purchases.map((purchase) => ({
    ...purchase,
    verifiedAt: purchase.verifiedAt === 0 ? null : isoTime(purchase.verifiedAt),
    ...askingJson(asking.get(referenceText(purchase)), healths),
    lines: purchase.lines.map((line) => ({
      ...line,
      startsAt: timeOrNull(line.startsAt),
      purchasedAt: timeOrNull(line.purchasedAt),
      endsAt: timeOrNull(line.endsAt),
      revokedAt: timeOrNull(line.revokedAt),
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
  const identifier = readCustomerIdentifier(customerText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const customer = await operationsOf(session).showCustomer(application, identifier);
  if (customer === null)
    throw new OperatorError(`There is no customer ${identifier} in ${application.name}.`);
  return { application, customer };
};

/** Shows everything known about a customer. */
export const showCustomer = async (
  session: Session,
  applicationText: string,
  customerText: string,
): Promise<Answer> => {
  const { application, customer } = await loadCustomer(session, applicationText, customerText);
  const json = customerReportJson(customer);
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
          ...indent([
            ...askingText(
              { store },
              customer.asking.get(referenceText({ store, environment, key })),
              customer.healths,
              session.moment,
            ),
            ...lines.map(
              (line) =>
                `${line.productIdentifier}  ${line.startsAt ?? "no start"} to ${line.endsAt ?? "no end"}  ${line.standing}`,
            ),
          ]),
        ]),
      ]),
    ].join("\n"),
  };
};

/** Finds the customers that have a purchase, by any identifier of it. */
export const findCustomer = async (
  session: Session,
  applicationText: string,
  name: string,
): Promise<Answer> => {
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const { customers, gone, erased } = await operationsOf(session).findCustomersKnownAs(application, name);
  // The error does not repeat the name: it may be a purchase token.
  if (customers.length + gone.length === 0)
    throw new OperatorError(
      erased
        ? `Its customer in ${application.name} was erased; the purchase is refused for ${TOMBSTONE_DAYS} days after that.`
        : `${application.name} has no customer with that original transaction id, app transaction id, purchase token or key.`,
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
          `Customer ${identifier} of ${application.name}, whose erasure was interrupted: run customer erase again`,
      ),
    ].join("\n"),
  };
};

export interface UnlinkOptions extends DestructiveOptions {
  /** Account that the customer moves to, in the same step. */
  readonly to?: string;
}

/** Unlinks a customer from its account, or moves it to another one. */
export const unlinkCustomer = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  customerText: string,
  options: UnlinkOptions,
): Promise<Answer> => {
  const authority = await authorityOf(session, options);
  const to = options.to === undefined ? null : readAccountIdentifier(options.to);
  const { application, customer } = await loadCustomer(session, applicationText, customerText);
  const { customerIdentifier, link } = customer;
  if (link === null && to === null)
    return {
      json: { customerIdentifier, unlinkedFrom: null, linkedTo: null },
      text: `Customer ${customerIdentifier} is linked to no account.`,
    };
  const purchases = `customer ${customerIdentifier} (${counted(customer.purchases.length, "purchase")})`;
  const from = link === null ? "" : ` away from account ${link.account}`;
  // Shows the state that the command expects unchanged.
  const asserted = link === null ? "" : ` Its link was asserted by a ${link.assertedBy}.`;
  await confirm(
    confirmation,
    options,
    to === null
      ? `This takes ${purchases}${from} of ${application.name}.${asserted}`
      : `This moves ${purchases}${from} to account ${to} of ${application.name}.${asserted}`,
  );
  const done = await operationsOf(session).unlinkCustomer(
    application.identifier,
    customerIdentifier,
    authority,
    { to, expected: link },
  );
  if (done?.outcome === "linked_otherwise")
    throw new OperatorError(
      `Nothing was changed: the link of customer ${customerIdentifier} has changed since you were asked. Look at it again.`,
    );
  const account = done?.outcome === "unlinked" ? done.account : null;
  return {
    json: { customerIdentifier, unlinkedFrom: account, linkedTo: to },
    text:
      to !== null
        ? `Customer ${customerIdentifier} is linked to account ${to}.`
        : account === null
          ? `Customer ${customerIdentifier} is linked to no account.`
          : `Customer ${customerIdentifier} is no longer linked to account ${account}.`,
  };
};

const contentsText = ({ purchases, identities, aliases }: Erasure): string =>
  [
    counted(purchases, "purchase"),
    counted(identities, "identity", "identities"),
    counted(aliases, "alias", "aliases"),
  ].join(", ");

/** Erases a customer, or completes an interrupted erasure. */
export const eraseCustomer = async (
  session: Session,
  confirmation: Confirmation,
  applicationText: string,
  customerText: string,
  options: DestructiveOptions,
): Promise<Answer> => {
  const authority = await authorityOf(session, options);
  const identifier = readCustomerIdentifier(customerText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const operations = operationsOf(session);
  const customer = await operations.showCustomer(application, identifier);
  const what =
    customer === null
      ? `This completes the erasure of customer ${identifier} of ${application.name}, if any of it is left.`
      : `This erases customer ${customer.customerIdentifier} of ${application.name}, ${linkText(customer)}: ${contentsText({ purchases: customer.purchases.length, identities: customer.identities.length, aliases: customer.aliases.length })}. They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them back.`;
  await confirm(confirmation, options, what);
  const erased = await operations.eraseCustomer(application.identifier, identifier, authority, (sofar) =>
    confirmation.progress(
      `erased ${counted(sofar.purchases, "purchase")}, ${counted(sofar.identities, "identity", "identities")}`,
    ),
  );
  if (erased === null) throw new OperatorError(`There is no customer ${identifier} in ${application.name}.`);
  return {
    json: { customerIdentifier: identifier, erased },
    text: `Customer ${identifier} is erased: ${contentsText(erased)}.`,
  };
};

/** Defines the commands of customers. */
export const addCustomerCommands = (program: Command, frame: Frame): void => {
  const { answer, confirmation } = frame;
  const customer = program.command("customer").description("customers of an application");
  customer
    .command("show")
    .description("show a customer's link, identities and purchases")
    .argument(...APPLICATION)
    .argument(...CUSTOMER)
    .action((applicationText: string, customerText: string) =>
      answer((session) => showCustomer(session, applicationText, customerText)),
    );
  addCustomerRefresh(customer, frame);
  customer
    .command("find")
    .description("find the customers that have a purchase")
    .argument(...APPLICATION)
    .argument("<name>", "an original transaction id, app transaction id, purchase token or purchase key")
    .action((applicationText: string, name: string) =>
      answer((session) => findCustomer(session, applicationText, name)),
    );
  destructive(customer.command("unlink"))
    .description("unlink a customer from its account, or move it to another one")
    .argument(...APPLICATION)
    .argument(...CUSTOMER)
    .option("--to <account>", "the account to move it to, in the same step")
    .action((applicationText: string, customerText: string, options: UnlinkOptions) =>
      answer((session) => unlinkCustomer(session, confirmation, applicationText, customerText, options)),
    );
  destructive(customer.command("erase"))
    .description("erase a customer with its purchases and identities")
    .argument(...APPLICATION)
    .argument(...CUSTOMER)
    .action((applicationText: string, customerText: string, options: DestructiveOptions) =>
      answer((session) => eraseCustomer(session, confirmation, applicationText, customerText, options)),
    );
};
