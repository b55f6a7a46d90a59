import type { Application } from "../../lib/applications/application.ts";
import { accountIdentifier, type CustomerEntitlement } from "../../lib/contract/schemas.ts";
import type { AccountReport } from "../../lib/customers/account-report.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { accountId, type AccountId } from "../../lib/identifiers.ts";
import type { Table } from "../../lib/table/table.ts";
import { columns, indent, type Answer } from "./answer.ts";
import {
  explain,
  type ExplainedCustomer,
  type ExplainedLine,
  type ExplainedPurchase,
} from "./explanation.ts";
import { OperatorError } from "./operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "./session.ts";

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

const purchaseJson = ({ purchase, why, lines }: ExplainedPurchase) => ({
  store: purchase.store,
  environment: purchase.environment,
  key: purchase.key,
  selectedProducts: purchase.selectedProducts,
  replacedBy: purchase.replacedBy,
  verifiedAt: purchase.verifiedAt === 0 ? null : isoTime(purchase.verifiedAt),
  why,
  lines: lines.map(lineJson),
});

const customerJson = ({ customer, purchases }: ExplainedCustomer) => ({
  customerIdentifier: customer.customerIdentifier,
  assertedBy: customer.assertedBy,
  linkedAt: isoTime(customer.linkedAt),
  createdAt: isoTime(customer.createdAt),
  aliases: customer.aliases,
  purchases: purchases.map(purchaseJson),
});

const spanText = ({ line }: ExplainedLine): string =>
  `${timeOrNull(line.startsAt) ?? "no start"} to ${timeOrNull(line.endsAt) ?? "no end"}`;

const lineText = (explained: ExplainedLine): string[] => {
  const { productIdentifier, basePlanIdentifier, standing } = explained.line;
  const product =
    basePlanIdentifier === null ? productIdentifier : `${productIdentifier} ${basePlanIdentifier}`;
  return [`${product}  ${spanText(explained)}  ${explained.status ?? standing}`, ...indent(explained.why)];
};

const purchaseText = ({ purchase, why, lines }: ExplainedPurchase): string[] => [
  `${purchase.store} ${purchase.environment} purchase ${purchase.key}${purchase.verifiedAt === 0 ? "" : `, verified ${isoTime(purchase.verifiedAt)}`}`,
  ...indent([...why, ...lines.flatMap(lineText)]),
];

const customerText = ({ customer, purchases }: ExplainedCustomer): string[] => [
  `Customer ${customer.customerIdentifier}`,
  ...indent([
    `created ${isoTime(customer.createdAt)}, linked ${isoTime(customer.linkedAt)} by a ${customer.assertedBy}`,
    ...(customer.aliases.length === 0 ? [] : [`merged from ${customer.aliases.join(", ")}`]),
    ...(purchases.length === 0 ? ["no purchases"] : purchases.flatMap(purchaseText)),
  ]),
];

const entitlementRow = (entitlement: CustomerEntitlement): string[] => [
  entitlement.identifier,
  entitlement.status,
  entitlement.active ? `until ${entitlement.expiresAt ?? "ever"}` : "no access",
  `${entitlement.store} ${entitlement.productIdentifier ?? ""}`,
];

/** Shows all that is known of an account, and why it is entitled to what it is. Pure. */
export const presentAccount = (report: AccountReport, catalog: Catalog, moment: Instant): Answer => {
  const { application, account, customers, entitlements } = report;
  const explained = explain(moment, customers, catalog);
  return {
    json: {
      applicationIdentifier: application.identifier,
      applicationName: application.name,
      applicationAccountIdentifier: account,
      moment: isoTime(moment),
      customers: explained.map(customerJson),
      entitlements,
    },
    text: [
      `Account ${account} of ${application.name} (${application.identifier}) at ${isoTime(moment)}`,
      ...(explained.length === 0 ? ["No customer is linked to it."] : explained.flatMap(customerText)),
      "Entitlements",
      ...indent(entitlements.length === 0 ? ["none"] : columns(entitlements.map(entitlementRow))),
    ].join("\n"),
  };
};

/** Reads an account in a table; one that was never seen has no customers. */
export type ComposeAccountReport = (
  table: Table,
) => (application: Application, account: AccountId, moment: Instant) => Promise<AccountReport>;

/** Shows an account of an application, whether or not it was ever seen. */
export const showAccount = async (
  session: Session,
  composeAccountReport: ComposeAccountReport,
  applicationText: string,
  accountText: string,
): Promise<Answer> => {
  const identifier = readApplicationIdentifier(applicationText);
  const account = accountIdentifier().safeParse(accountText);
  if (!account.success)
    throw new OperatorError(
      `An account's identifier ${account.error.issues[0]?.message ?? "is of another form"}.`,
    );
  const application = await findApplication(session, identifier);
  const loadAccountReport = composeAccountReport(session.table);
  const report = await loadAccountReport(application, accountId(account.data), session.moment);
  return presentAccount(report, application.catalog, session.moment);
};
