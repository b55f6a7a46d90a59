import type { Application } from "../applications/application.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { CustomerId } from "../identifiers.ts";
import { createCustomerTable } from "../table/customers.ts";
import { identityOfKey } from "../table/keys.ts";
import { findOwnership } from "../table/ownership.ts";
import type { Link } from "../table/records.ts";
import type { Table } from "../table/table.ts";

/** All that is known of a customer. */
export interface CustomerReport {
  readonly customerIdentifier: CustomerId;
  readonly createdAt: Instant;
  readonly link: Link | null;
  /** Customers that were merged into this one. */
  readonly aliases: readonly CustomerId[];
  readonly identities: readonly {
    readonly store: string;
    readonly kind: string;
    readonly environment: string;
    readonly value: string;
  }[];
  readonly purchases: readonly Purchase[];
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Reads a customer, or the one it was merged into; null where there is none. */
export const loadCustomerReport = async (
  table: Table,
  application: Application,
  customer: CustomerId,
  pause: (attempt: number) => Promise<void>,
): Promise<CustomerReport | null> => {
  const { living } = await createCustomerTable(table, pause).findCustomers(application.identifier, [
    customer,
  ]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  const owned = await findOwnership(table, application.identifier, stored.identifier, pause);
  return {
    customerIdentifier: stored.identifier,
    createdAt: stored.createdAt,
    link: stored.link,
    aliases: owned.aliases.map(({ identifier }) => identifier).sort(compare),
    identities: owned.identities.map(({ key }) => identityOfKey(key)).filter((identity) => identity !== null),
    purchases: owned.purchases
      .map(({ purchase }) => purchase)
      .sort((a, b) => compare(referenceText(a), referenceText(b))),
  };
};
