import type { Application } from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import { customersOf } from "./customer-table.ts";
import { ATTEMPTS, type FactStore } from "./fact-store.ts";
import { inputOf, planCustomerChange } from "./plan-customer-change.ts";
import type { StoredCustomer } from "./records.ts";

/** Writes what is new for one owner after the other; whether all of it is stored. */
const tryOnce = async (
  store: FactStore,
  application: Application,
  renewals: readonly Purchase[],
): Promise<boolean> => {
  const { table, write, now, claimsPerAccount } = store;
  const moment = now();
  const known = await table.findFacts(application.identifier, [], renewals, moment);
  const named = customersOf(known);
  const { living, gone } = await table.findCustomers(application.identifier, named);
  // One that is neither is being merged.
  if (living.size + gone.size < named.size) return false;

  const ownerOf = (renewal: Purchase): StoredCustomer | undefined => {
    const stored = known.purchases.get(referenceText(renewal));
    return stored === undefined ? undefined : living.get(stored.customer);
  };
  for (const [owner, purchases] of Map.groupBy(renewals, ownerOf)) {
    if (owner === undefined) continue;
    const ofOwner = { environment: owner.environment, acknowledgementDue: null };
    const { change } = planCustomerChange({
      ...inputOf(application, ofOwner, known, claimsPerAccount, moment),
      identities: [],
      purchases,
      survivor: owner,
      absorbed: [],
      link: owner.link,
      identifier: owner.identifier,
    });
    if (change !== null && (await write(change)) === "conflict") return false;
  }
  return true;
};

/**
 * Stores renewal infos for the owners of their lineages: they name nobody, so they merge and link nobody. One of a lineage
 * that nobody has is ignored. Two reads, and one transaction for each owner to whom they are new.
 *
 * @throws ServiceError `TOO_MANY_REQUESTS` if every attempt conflicts
 */
export const storeRenewals = async (
  store: FactStore,
  application: Application,
  renewals: readonly Purchase[],
): Promise<void> => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await store.pause(attempt);
    if (await tryOnce(store, application, renewals)) return;
  }
  throw new ServiceError("TOO_MANY_REQUESTS");
};
