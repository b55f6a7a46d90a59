import type { Application } from "../../applications/application.ts";
import type { Link, StoredCustomer } from "../../customers/storing/records.ts";
import { accountHoldings, eachOnce, type CustomerTable } from "../../customers/storing/customer-table.ts";
import { entitlementsAt } from "../../entitlements/entitlements.ts";
import type { Holding } from "../../entitlements/holding.ts";
import { referenceText, type Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AskQueues } from "../../customers/asking/ask-queue.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { createAskings, type Asking } from "./asking.ts";
import type { FindOwnership } from "../acts/operation-table.ts";
import { loadToldReport, type ToldTable } from "./told-report.ts";

export interface Reports {
  readonly customers: Pick<CustomerTable, "findAccount" | "findCustomers">;
  readonly findOwnership: FindOwnership;
  readonly queue: Pick<AskQueues, "healthOf">;
  readonly told: ToldTable;
}

type Askings = ReturnType<typeof createAskings>;

/** A customer's link and all that it owns. */
const reportOf = async (
  { findOwnership }: Reports,
  { identifier: application }: Application,
  { identifier, createdAt, link }: StoredCustomer,
  askings: Askings,
) => {
  const { purchases, aliases, identities } = await findOwnership(application, identifier);
  const owned = purchases.map(({ purchase }) => purchase);
  const asking = purchases.map(
    async (stored) => [referenceText(stored.purchase), await askings(stored)] as const,
  );
  return {
    customerIdentifier: identifier,
    createdAt,
    link,
    aliases: aliases.map((alias) => alias.identifier).sort(compare),
    identities: identities.flatMap(({ identity }) => identity ?? []),
    purchases: owned.sort((a, b) => compare(referenceText(a), referenceText(b))) as readonly Purchase[],
    /** What is asked about each purchase next, by `referenceText`. */
    asking: new Map(await Promise.all(asking)) as ReadonlyMap<string, Asking>,
  };
};
export type CustomerReport = Awaited<ReturnType<typeof reportOf>>;

/** A customer of an account. */
export type ReportedCustomer = CustomerReport & { readonly link: Link };

export const reportedHoldings = (customers: readonly ReportedCustomer[]): readonly Holding[] =>
  customers.flatMap(({ customerIdentifier, link: { assertedBy }, purchases }) =>
    purchases.map((purchase): Holding => ({ customerIdentifier, assertedBy, purchase })),
  );

/** Reads a customer, or the one it was merged into; null if there is none. */
export const loadCustomerReport = async (
  reports: Reports,
  application: Application,
  customer: CustomerId,
): Promise<CustomerReport | null> => {
  const { living } = await reports.customers.findCustomers(application.identifier, [customer]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  return reportOf(reports, application, stored, createAskings(reports.queue, application));
};

/** Reads an account with all purchases of its customers; an unknown account has no customers. */
export const loadAccountReport = async (
  reports: Reports,
  application: Application,
  account: AccountId,
  moment: Instant,
) => {
  const { customers, queue, told } = reports;
  const linked = await customers.findAccount(application.identifier, account);
  const { living } = await customers.findCustomers(
    application.identifier,
    linked.map(({ customer }) => customer),
  );
  const askings = createAskings(queue, application);
  const reported = await Promise.all(
    eachOnce(living).map(async (stored): Promise<ReportedCustomer[]> => {
      const { link } = stored;
      return link === null ? [] : [{ ...(await reportOf(reports, application, stored, askings)), link }];
    }),
  );
  const all: readonly ReportedCustomer[] = reported
    .flat()
    .sort((a, b) => compare(a.customerIdentifier, b.customerIdentifier));
  return {
    application: { identifier: application.identifier, name: application.name },
    account,
    customers: all,
    /** As `readAccountEntitlements` would answer at the moment. */
    entitlements: entitlementsAt(moment, accountHoldings(linked), application),
    /** Changes told and pending; null: none are told, and none were told of it. */
    told: await loadToldReport(told, application, account, moment),
  };
};
export type AccountReport = Awaited<ReturnType<typeof loadAccountReport>>;
