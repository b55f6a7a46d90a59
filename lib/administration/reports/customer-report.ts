import type { Application } from "../../applications/application.ts";
import type { Link } from "../../customers/storing/records.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { ownedBy, type Reports } from "./account-report.ts";
import { healthsOf, type Asking, type QueueHealths } from "./asking.ts";
import type { NamedIdentity } from "../acts/operation-table.ts";

export interface CustomerReport {
  readonly customerIdentifier: CustomerId;
  readonly createdAt: Instant;
  readonly link: Link | null;
  readonly aliases: readonly CustomerId[];
  readonly identities: readonly NamedIdentity[];
  readonly purchases: readonly Purchase[];
  /** Next store query of each purchase, by `referenceText`. */
  readonly asking: ReadonlyMap<string, Asking>;
  readonly healths: QueueHealths;
}

/** Reads a customer, or the one it was merged into; null if there is none. */
export const loadCustomerReport = async (
  reports: Reports,
  application: Application,
  customer: CustomerId,
): Promise<CustomerReport | null> => {
  const { living } = await reports.customers.findCustomers(application.identifier, [customer]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  const { identities, ...owned } = await ownedBy(reports, application, stored.identifier);
  return {
    customerIdentifier: stored.identifier,
    createdAt: stored.createdAt,
    link: stored.link,
    ...owned,
    identities: identities.map(({ identity }) => identity).filter((identity) => identity !== null),
    healths: await healthsOf(reports.queue, [...owned.asking.values()]),
  };
};
