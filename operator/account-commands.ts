import type { Application } from "../lib/applications/application.ts";
import type { CustomerEntitlement } from "../lib/contract/schemas.ts";
import type { AccountReport, ReportedCustomer } from "../lib/administration/account-report.ts";
import type { QueueHealths } from "../lib/administration/asking.ts";
import type { Terms } from "../lib/entitlements/entitlements.ts";
import { referenceText, type Purchase } from "../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../lib/entitlements/time.ts";
import type { AccountId, CustomerId } from "../lib/identifiers.ts";
import type { Table } from "../lib/table/table.ts";
import { askingJson, askingText } from "./asking-text.ts";
import { columns, counted, indent, type Answer } from "./answer.ts";
import { auditJson } from "./application-commands.ts";
import { confirm, type Confirmation } from "./confirmation.ts";
import { customerReportJson } from "./customer-commands.ts";
import { authorityOf, TOMBSTONE_DAYS, type DestructiveOptions } from "./destructive.ts";
import {
  explain,
  type ExplainedCustomer,
  type ExplainedLine,
  type ExplainedPurchase,
} from "./explanation.ts";
import { OperatorError } from "./operator-error.ts";
import {
  findApplication,
  operationsOf,
  readAccountIdentifier,
  readApplicationIdentifier,
  type Session,
} from "./session.ts";

const timeOrNull = (instant: Instant | null): string | null => (instant === null ? null : isoTime(instant));

const lineJson = ({ line, status, expiresAt, why }: ExplainedLine) => ({
  transactionIdentifier: line.transactionIdentifier,
  productIdentifier: line.productIdentifier,
  basePlanIdentifier: line.basePlanIdentifier,
  nature: line.nature,
  standing: line.standing,
  status,
  startsAt: timeOrNull(line.startsAt),
  endsAt: timeOrNull(line.endsAt),
  expiresAt: timeOrNull(expiresAt),
  revokedAt: timeOrNull(line.revokedAt),
  willRenew: line.willRenew,
  verifiedAt: isoTime(line.verifiedAt),
  why,
});

const askingAbout = ({ asking }: ReportedCustomer, purchase: Purchase) => asking.get(referenceText(purchase));

const purchaseJson = (
  customer: ReportedCustomer,
  { purchase, why, lines }: ExplainedPurchase,
  healths: QueueHealths,
) => ({
  store: purchase.store,
  environment: purchase.environment,
  key: purchase.key,
  selectedProducts: purchase.selectedProducts,
  replacedBy: purchase.replacedBy,
  verifiedAt: timeOrNull(verifiedBy(purchase)?.[0] ?? null),
  verifiedBy: verifiedBy(purchase)?.[1] ?? null,
  renewal:
    purchase.renewal === null
      ? null
      : {
          ...purchase.renewal,
          periodEndsAt: timeOrNull(purchase.renewal.periodEndsAt),
          graceEndsAt: timeOrNull(purchase.renewal.graceEndsAt),
          signedAt: isoTime(purchase.renewal.signedAt),
        },
  ...askingJson(purchase, askingAbout(customer, purchase), healths),
  why,
  lines: lines.map(lineJson),
});

const customerJson = ({ customer, purchases }: ExplainedCustomer, healths: QueueHealths) => ({
  customerIdentifier: customer.customerIdentifier,
  assertedBy: customer.assertedBy,
  linkedAt: isoTime(customer.linkedAt),
  createdAt: isoTime(customer.createdAt),
  aliases: customer.aliases,
  purchases: purchases.map((one) => purchaseJson(customer, one, healths)),
});

const spanText = ({ line }: ExplainedLine): string =>
  `${timeOrNull(line.startsAt) ?? "no start"} to ${timeOrNull(line.endsAt) ?? "no end"}`;

const lineText = (explained: ExplainedLine): string[] => {
  const { productIdentifier, basePlanIdentifier, standing } = explained.line;
  const product =
    basePlanIdentifier === null ? productIdentifier : `${productIdentifier} ${basePlanIdentifier}`;
  return [`${product}  ${spanText(explained)}  ${explained.status ?? standing}`, ...indent(explained.why)];
};

/** When the store last vouched for a purchase, and by what; null: it is only named by another. */
const verifiedBy = ({ store, verifiedAt, renewal }: Purchase): readonly [Instant, string] | null => {
  if (renewal !== null && renewal.signedAt > verifiedAt) return [renewal.signedAt, "a renewal info"];
  if (verifiedAt === 0) return null;
  return [verifiedAt, store === "ios-store" ? "a transaction" : "Google's answer"];
};

const verifiedText = (purchase: Purchase): string => {
  const verified = verifiedBy(purchase);
  return verified === null ? "" : `, verified ${isoTime(verified[0])} by ${verified[1]}`;
};

/** The renewal info, as the App Store signed it. */
const renewalText = ({ renewal }: Purchase): string[] =>
  renewal === null
    ? []
    : [
        [
          renewal.willRenew ? "renews" : "does not renew",
          ...(renewal.renewsInto === null ? [] : [`into ${renewal.renewsInto}`]),
          ...(renewal.graceEndsAt === null
            ? []
            : [`in a grace period until ${isoTime(renewal.graceEndsAt)}`]),
          ...(renewal.isInBillingRetry ? ["in billing retry"] : []),
          `(signed ${isoTime(renewal.signedAt)})`,
        ].join(" "),
      ];

const purchaseText = (
  customer: ReportedCustomer,
  { purchase, why, lines }: ExplainedPurchase,
  { healths }: AccountReport,
  moment: Instant,
): string[] => [
  `${purchase.store} ${purchase.environment} purchase ${purchase.key}${verifiedText(purchase)}`,
  ...indent([
    ...why,
    ...renewalText(purchase),
    ...askingText(purchase, askingAbout(customer, purchase), healths, moment),
    ...lines.flatMap(lineText),
  ]),
];

const customerText = (
  { customer, purchases }: ExplainedCustomer,
  report: AccountReport,
  moment: Instant,
): string[] => [
  `Customer ${customer.customerIdentifier}`,
  ...indent([
    `created ${isoTime(customer.createdAt)}, linked ${isoTime(customer.linkedAt)} by a ${customer.assertedBy}`,
    ...(customer.aliases.length === 0 ? [] : [`merged from ${customer.aliases.join(", ")}`]),
    ...(purchases.length === 0
      ? ["no purchases"]
      : purchases.flatMap((one) => purchaseText(customer, one, report, moment))),
  ]),
];

const entitlementRow = (entitlement: CustomerEntitlement): string[] => [
  entitlement.identifier,
  entitlement.status,
  entitlement.active
    ? entitlement.expiresAt === null
      ? "for ever"
      : `until ${entitlement.expiresAt}`
    : "no access",
  `${entitlement.store} ${entitlement.productIdentifier ?? ""}`,
];

/** Presents everything known about an account, and the reasons for its entitlements. Pure. */
export const presentAccount = (report: AccountReport, terms: Terms, moment: Instant): Answer => {
  const { application, account, customers, entitlements } = report;
  const explained = explain(moment, customers, terms);
  return {
    json: {
      applicationIdentifier: application.identifier,
      applicationName: application.name,
      applicationAccountIdentifier: account,
      moment: isoTime(moment),
      customers: explained.map((customer) => customerJson(customer, report.healths)),
      entitlements,
    },
    text: [
      `Account ${account} of ${application.name} (${application.identifier}) at ${isoTime(moment)}`,
      ...(explained.length === 0
        ? ["No customer is linked to it."]
        : explained.flatMap((customer) => customerText(customer, report, moment))),
      "Entitlements",
      ...indent(entitlements.length === 0 ? ["none"] : columns(entitlements.map(entitlementRow))),
    ].join("\n"),
  };
};

/** Binds the account report to a table. An unknown account has no customers. */
export type ComposeAccountReport = (
  table: Table,
) => (application: Application, account: AccountId, moment: Instant) => Promise<AccountReport>;

/** Shows an account, even one that was never seen. */
export const showAccount = async (
  session: Session,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
): Promise<Answer> => {
  const identifier = readApplicationIdentifier(applicationText);
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, identifier);
  const loadAccountReport = composeAccountReport(session.table);
  const report = await loadAccountReport(application, account, session.moment);
  return presentAccount(report, application, session.moment);
};

/** Exports everything known about an account, always as JSON. */
export const exportAccount = async (
  session: Session,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
): Promise<Answer> => {
  const account = readAccountIdentifier(accountText);
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
    customers: customers.filter((customer) => customer !== null).map(customerReportJson),
    audit: audit.filter(({ customer }) => named.has(customer)).map(auditJson),
  };
  return { json, text: JSON.stringify(json, null, 2) };
};

export interface AccountUnlinkOptions extends DestructiveOptions {
  readonly assertedBy: string;
}

/** Unlinks all customers of an account whose link only a client asserted. */
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
    throw new OperatorError(
      "--asserted-by must be client; unlink customers that a credential has linked one by one.",
    );
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const report = await composeAccountReport(session.table)(application, account, session.moment);
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
  const account = readAccountIdentifier(accountText);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const { customers } = await composeAccountReport(session.table)(application, account, session.moment);
  const purchases = customers.reduce((sum, customer) => sum + customer.purchases.length, 0);
  if (customers.length > 0)
    await confirm(
      confirmation,
      options,
      `This erases account ${account} of ${application.name}: ${counted(customers.length, "customer")} with ${counted(purchases, "purchase")}. They are refused for ${TOMBSTONE_DAYS} days, unless a link with an API key brings them back.`,
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
  return {
    json: { applicationAccountIdentifier: account, erasedCustomers: erased },
    text:
      erased.length === 0
        ? `No customer is linked to account ${account}. To complete an interrupted erasure, run customer erase for the customers that application audit lists.`
        : `Account ${account} is erased: ${counted(erased.length, "customer")}.`,
  };
};
