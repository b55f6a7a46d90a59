import type { Application } from "../../applications/application.ts";
import type { Link } from "../../customers/storing/records.ts";
import { referenceText, type Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { askingsOf, type Reports } from "./account-report.ts";
import { healthsOf, type Asking, type QueueHealths } from "./asking.ts";
import type { NamedIdentity } from "../acts/operation-table.ts";

export interface CustomerReport {
  readonly customerIdentifier: CustomerId;
  readonly createdAt: Instant;
  readonly link: Link | null;
  /** Customers merged into this one. */
  readonly aliases: readonly CustomerId[];
  readonly identities: readonly NamedIdentity[];
  readonly purchases: readonly Purchase[];
  /** Next store query of each purchase, by `referenceText`. */
  readonly asking: ReadonlyMap<string, Asking>;
  /** Health of the queues that its purchases are in. */
  readonly healths: QueueHealths;
}

/** Reads a customer, or the one it was merged into; null if there is none. */
export const loadCustomerReport = async (
  { customers, findOwnership, queue }: Reports,
  application: Application,
  customer: CustomerId,
): Promise<CustomerReport | null> => {
  const { living } = await customers.findCustomers(application.identifier, [customer]);
  const stored = living.get(customer);
  if (stored === undefined) return null;
  const owned = await findOwnership(application.identifier, stored.identifier);
  const purchases = owned.purchases
    .map(({ purchase }) => purchase)
    .sort((a, b) => compare(referenceText(a), referenceText(b)));
  const asking = askingsOf(application, owned.purchases);
  return {
    customerIdentifier: stored.identifier,
    createdAt: stored.createdAt,
    link: stored.link,
    aliases: owned.aliases.map(({ identifier }) => identifier).sort(compare),
    identities: owned.identities.map(({ identity }) => identity).filter((identity) => identity !== null),
    purchases,
    asking,
    healths: await healthsOf(queue, [...asking.values()]),
  };
};
