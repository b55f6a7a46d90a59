import type { Application } from "../../applications/application.ts";
import type { AssertedBy } from "../../contract/schemas.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { accountHoldings, eachOnce, type CustomerTable } from "../../customers/storing/customer-table.ts";
import { entitlementsAt } from "../../entitlements/entitlements.ts";
import type { Holding } from "../../entitlements/holding.ts";
import { referenceText, type Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AskQueues } from "../../customers/asking/ask-queue.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { askingOf, healthsOf, type Asking } from "./asking.ts";
import type { FindOwnership } from "../acts/operation-table.ts";
import { loadToldReport, type ToldTable } from "./told-report.ts";

export interface ReportedCustomer {
  readonly customerIdentifier: CustomerId;
  readonly assertedBy: AssertedBy;
  readonly linkedAt: Instant;
  readonly createdAt: Instant;
  readonly aliases: readonly CustomerId[];
  readonly purchases: readonly Purchase[];
  /** Next store query of each purchase, by `referenceText`. */
  readonly asking: ReadonlyMap<string, Asking>;
}

export const reportedHoldings = (
  customers: readonly Pick<ReportedCustomer, "customerIdentifier" | "assertedBy" | "purchases">[],
): readonly Holding[] =>
  customers.flatMap(({ customerIdentifier, assertedBy, purchases }) =>
    purchases.map((purchase): Holding => ({ customerIdentifier, assertedBy, purchase })),
  );

export interface Reports {
  readonly customers: Pick<CustomerTable, "findAccount" | "findCustomers">;
  readonly findOwnership: FindOwnership;
  readonly queue: Pick<AskQueues, "healthOf">;
}

export interface AccountReports extends Reports {
  readonly told: ToldTable;
}

/** A customer's link and all that it owns. */
const reportOf = async (
  { findOwnership }: Pick<Reports, "findOwnership">,
  application: Application,
  { identifier, createdAt, link }: StoredCustomer,
) => {
  const { purchases, aliases, identities } = await findOwnership(application.identifier, identifier);
  return {
    customerIdentifier: identifier,
    createdAt,
    link,
    aliases: aliases.map((alias) => alias.identifier).sort(compare),
    identities: identities.flatMap(({ identity }) => identity ?? []),
    purchases: purchases
      .map(({ purchase }) => purchase)
      .sort((a, b) => compare(referenceText(a), referenceText(b))),
    asking: new Map<string, Asking>(
      purchases.map((stored) => [referenceText(stored.purchase), askingOf(application, stored)]),
    ),
  };
};

/** Reads a customer, or the one it was merged into; null if there is none. */
export const loadCustomerReport = async (
  reports: Reports,
  application: Application,
  customer: CustomerId,
) => {
  const { living } = await reports.customers.findCustomers(application.identifier, [customer]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  const report = await reportOf(reports, application, stored);
  return { ...report, healths: await healthsOf(reports.queue, [...report.asking.values()]) };
};
export type CustomerReport = NonNullable<Awaited<ReturnType<typeof loadCustomerReport>>>;

/** Reads an account with all purchases of its customers; an unknown account has no customers. */
export const loadAccountReport = async (
  reports: AccountReports,
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
  const reported = await Promise.all(
    eachOnce(living).map(async (stored): Promise<ReportedCustomer[]> => {
      if (stored.link === null) return [];
      const { link, identities, ...owned } = await reportOf(reports, application, stored);
      return [{ ...owned, assertedBy: stored.link.assertedBy, linkedAt: stored.link.linkedAt }];
    }),
  );
  const all: readonly ReportedCustomer[] = reported
    .flat()
    .sort((a, b) => compare(a.customerIdentifier, b.customerIdentifier));
  return {
    application: { identifier: application.identifier, name: application.name },
    account,
    customers: all,
    healths: await healthsOf(
      queue,
      all.flatMap(({ asking }) => [...asking.values()]),
    ),
    /** As `readAccountEntitlements` would answer at the moment. */
    entitlements: entitlementsAt(moment, accountHoldings(linked), application),
    /** Changes told and pending; null: none are told, and none were told of it. */
    told: await loadToldReport(told, application, account, moment),
  };
};
export type AccountReport = Awaited<ReturnType<typeof loadAccountReport>>;
