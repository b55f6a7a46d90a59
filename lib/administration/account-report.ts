import type { Application } from "../applications/application.ts";
import type { CustomerEntitlement } from "../contract/schemas.ts";
import { eachOnce, type CustomerTable } from "../customers/customer-table.ts";
import { entitlementsAt, type AssertedBy } from "../entitlements/entitlements.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, CustomerId } from "../identifiers.ts";
import { compare } from "../order.ts";
import type { FindOwnership } from "./operation-table.ts";

/** A customer linked to an account, with all its purchases. */
export interface ReportedCustomer {
  readonly customerIdentifier: CustomerId;
  readonly assertedBy: AssertedBy;
  readonly linkedAt: Instant;
  readonly createdAt: Instant;
  /** Customers merged into this one. */
  readonly aliases: readonly CustomerId[];
  readonly purchases: readonly Purchase[];
}

export interface Reports {
  readonly customers: Pick<CustomerTable, "findAccount" | "findCustomers">;
  readonly findOwnership: FindOwnership;
}

export interface AccountReport {
  readonly application: Pick<Application, "identifier" | "name">;
  readonly account: AccountId;
  readonly customers: readonly ReportedCustomer[];
  /** As a read of the account answers at the moment. */
  readonly entitlements: readonly CustomerEntitlement[];
}

/** Reads an account with all purchases of its customers; an unknown account has no customers. */
export const loadAccountReport = async (
  { customers, findOwnership }: Reports,
  application: Application,
  account: AccountId,
  moment: Instant,
): Promise<AccountReport> => {
  const linked = await customers.findAccount(application.identifier, account);
  const { living } = await customers.findCustomers(
    application.identifier,
    linked.map(({ customer }) => customer),
  );
  const reported = await Promise.all(
    eachOnce(living).map(async ({ identifier, createdAt, link }): Promise<ReportedCustomer[]> => {
      if (link === null) return [];
      const { purchases, aliases } = await findOwnership(application.identifier, identifier);
      return [
        {
          customerIdentifier: identifier,
          assertedBy: link.assertedBy,
          linkedAt: link.linkedAt,
          createdAt,
          aliases: aliases.map((alias) => alias.identifier).sort(compare),
          purchases: purchases
            .map(({ purchase }) => purchase)
            .sort((a, b) => compare(referenceText(a), referenceText(b))),
        },
      ];
    }),
  );
  const holdings = linked.flatMap(({ customer, holdings, assertedBy }) =>
    holdings.map((purchase) => ({ customerIdentifier: customer, assertedBy, purchase })),
  );
  return {
    application: { identifier: application.identifier, name: application.name },
    account,
    customers: reported.flat().sort((a, b) => compare(a.customerIdentifier, b.customerIdentifier)),
    entitlements: entitlementsAt(moment, holdings, application),
  };
};
