import {
  eraseCustomer as erase,
  type Erasure,
  unlinkCustomer as unlink,
} from "../../lib/administration/acts/operations.ts";
import {
  type CustomerReport,
  findCustomersKnownAs,
  loadCustomerReport,
} from "../../lib/administration/reports/account-report.ts";
import type { Application } from "../../lib/applications/application.ts";
import { type Purchase, referenceText } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import type { CustomerId } from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { spanText } from "../text/account.ts";
import { counted, type Lines } from "../text/answer.ts";
import { askingJson, askingText } from "../text/asking.ts";
import { authorityOf, DESTRUCTIVE, TOMBSTONE_DAYS } from "./audit.ts";
import { APPLICATION, command, CUSTOMER, optional, readAccountIdentifier, text } from "./command.ts";

const takes = { application: APPLICATION, customer: CUSTOMER };

export const customerReportJson = ({ purchases, asking, ...report }: CustomerReport) => ({
  ...report,
  purchases: purchases.map((purchase) => ({
    ...purchase,
    ...askingJson(asking.get(referenceText(purchase))),
  })),
});

const linkText = ({ link }: Pick<CustomerReport, "link">): string =>
  link === null
    ? "linked to no account"
    : `linked to account ${link.account} since ${isoTime(link.linkedAt)} by a ${link.assertedBy}`;

export const noCustomer = (identifier: CustomerId, { name }: Application): OperatorError =>
  new OperatorError(`There is no customer ${identifier} in ${name}.`);

export const findReport = async (
  session: Session,
  application: Application,
  identifier: CustomerId,
): Promise<CustomerReport> => {
  const customer = await loadCustomerReport(session, application, identifier);
  if (customer === null) throw noCustomer(identifier, application);
  return customer;
};

export const showCustomer = command({
  name: "customer show",
  about: "show a customer's link, identities and purchases",
  takes,
  options: {},
  run: async ({ session, application, customer: identifier }) => {
    const customer = await findReport(session, application, identifier);
    const { asking, aliases, identities, purchases } = customer;
    const purchaseText = (purchase: Purchase): readonly Lines[] => [
      `purchase ${referenceText(purchase)}${purchase.replacedBy === null ? "" : `, replaced by ${purchase.replacedBy}`}`,
      [
        ...askingText(purchase, asking.get(referenceText(purchase)), session.moment),
        ...purchase.lines.map((line) => `${line.productIdentifier}  ${spanText(line)}  ${line.standing}`),
      ],
    ];
    return {
      json: { applicationIdentifier: application.identifier, ...customerReportJson(customer) },
      text: [
        `Customer ${customer.customerIdentifier} of ${application.name}`,
        [
          `created ${isoTime(customer.createdAt)}, ${linkText(customer)}`,
          aliases.length > 0 && `merged from ${aliases.join(", ")}`,
          ...identities.map(
            ({ store, kind, environment, value }) => `identity ${store} ${environment} ${kind} ${value}`,
          ),
          ...purchases.flatMap(purchaseText),
        ],
      ],
    };
  },
});

export const findCustomer = command({
  name: "customer find",
  about: "find the customers that have a purchase",
  takes: {
    application: APPLICATION,
    name: text("<name>", "an original transaction id, app transaction id, purchase token or purchase key"),
  },
  options: {},
  run: async ({ session, application, name }) => {
    const found = await findCustomersKnownAs(session.customers, application, name, session.now());
    const { customers, gone, erased } = found;
    // The error does not repeat the name: it may be a purchase token.
    if (customers.length + gone.length === 0)
      throw new OperatorError(
        erased
          ? `Its customer in ${application.name} was erased: the purchase is refused for ${TOMBSTONE_DAYS} days, unless your backend links it again.`
          : `${application.name} has no customer with that original transaction id, app transaction id, purchase token or key.`,
      );
    return {
      json: {
        applicationIdentifier: application.identifier,
        customers: customers.map(({ identifier, link }) => ({ customerIdentifier: identifier, link })),
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
      ],
    };
  },
});

export const unlinkCustomer = command({
  name: "customer unlink",
  about: "unlink a customer from its account, or move it to another one",
  takes,
  options: {
    ...DESTRUCTIVE,
    to: optional("--to <account>", "the account to move it to, in the same step", readAccountIdentifier),
  },
  run: async ({ session, application, customer, options, confirm }) => {
    const authority = await authorityOf(session, options);
    const { to } = options;
    const report = await findReport(session, application, customer);
    const { customerIdentifier, link } = report;
    const json = { customerIdentifier, unlinkedFrom: null, linkedTo: null };
    const unlinked = `Customer ${customerIdentifier} is linked to no account.`;
    if (link === null && to === null) return { json, text: unlinked };
    const purchases = `customer ${customerIdentifier} (${counted(report.purchases.length, "purchase")})`;
    const from = link === null ? "" : ` away from account ${link.account}`;
    // Shows the state that the command expects unchanged.
    const asserted = link === null ? "" : ` Its link was asserted by a ${link.assertedBy}.`;
    await confirm(
      to === null
        ? `This takes ${purchases}${from} of ${application.name}.${asserted}`
        : `This moves ${purchases}${from} to account ${to} of ${application.name}.${asserted}`,
    );
    const change = { to, expected: link };
    const { identifier } = application;
    const done = await unlink(session, identifier, customerIdentifier, authority, change);
    if (done?.outcome === "linked_otherwise")
      throw new OperatorError(
        `Nothing was changed: the link of customer ${customerIdentifier} has changed since you were asked. Look at it again.`,
      );
    const account = done?.outcome === "unlinked" ? done.account : null;
    const left =
      account === null
        ? unlinked
        : `Customer ${customerIdentifier} is no longer linked to account ${account}.`;
    return {
      json: { customerIdentifier, unlinkedFrom: account, linkedTo: to },
      text: to === null ? left : `Customer ${customerIdentifier} is linked to account ${to}.`,
    };
  },
});

const contentsText = ({ purchases, identities, aliases }: Erasure): string =>
  [
    counted(purchases, "purchase"),
    counted(identities, "identity", "identities"),
    counted(aliases, "alias", "aliases"),
  ].join(", ");

export const eraseCustomer = command({
  name: "customer erase",
  about: "erase a customer with its purchases and identities",
  takes,
  options: DESTRUCTIVE,
  run: async ({ session, application, customer: identifier, options, confirm, progress }) => {
    const authority = await authorityOf(session, options);
    const customer = await loadCustomerReport(session, application, identifier);
    await confirm(
      customer === null
        ? `This completes the erasure of customer ${identifier} of ${application.name}, if any of it is left.`
        : `This erases customer ${customer.customerIdentifier} of ${application.name}, ${linkText(customer)}: ${contentsText({ purchases: customer.purchases.length, identities: customer.identities.length, aliases: customer.aliases.length })}. They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them back.`,
    );
    const erased = await erase(session, application.identifier, identifier, authority, (sofar) =>
      progress(
        `erased ${counted(sofar.purchases, "purchase")}, ${counted(sofar.identities, "identity", "identities")}`,
      ),
    );
    if (erased === null) throw noCustomer(identifier, application);
    return {
      json: { customerIdentifier: identifier, erased },
      text: `Customer ${identifier} is erased: ${contentsText(erased)}.`,
    };
  },
});
