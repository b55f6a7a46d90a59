import type { Application } from "../applications/application.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { FactStore } from "./fact-store.ts";
import { inputOf, planCustomerChange } from "./plan-customer-change.ts";
import type { StoredCustomer } from "./records.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

/*
 * Renewal infos of lineages that a request does not prove. They name nobody, so they merge and link nobody: they are
 * stored for the owners of their lineages, and ignored where a lineage has none.
 */

const without = <T>(
  entries: Iterable<readonly [string, T]>,
  references: ReadonlySet<string>,
): Map<string, T> => new Map([...entries].filter(([reference]) => !references.has(reference)));

/** The stored facts without those of `others`, which name no customer. */
export const namingFacts = (found: KnownFacts, others: readonly Purchase[]): KnownFacts => {
  if (others.length === 0) return found;
  const references = new Set(others.map(referenceText));
  return {
    ...found,
    purchases: without(found.purchases, references),
    erasedPurchases: new Set([...found.erasedPurchases].filter((reference) => !references.has(reference))),
  };
};

/**
 * Whether a lineage is held by a customer, but was not found: the reads saw a part of the transaction that stored it.
 */
export const isLineageHalfSeen = (
  others: readonly Purchase[],
  { purchases }: KnownFacts,
  living: FoundCustomers["living"],
): boolean => {
  const unknown = new Set(others.map(referenceText).filter((reference) => !purchases.has(reference)));
  return (
    unknown.size > 0 &&
    [...living.values()].some(({ holdings }) => holdings.some((held) => unknown.has(referenceText(held))))
  );
};

/**
 * Writes new renewal infos, one owner after the other. `written`: the owners have changed, so read and decide again.
 */
export const storeForOwners = async (
  { write }: Pick<FactStore, "write">,
  application: Application,
  { renewals: others, origin }: Pick<VerifiedFacts, "renewals" | "origin">,
  found: KnownFacts,
  living: FoundCustomers["living"],
  moment: Instant,
): Promise<"unchanged" | "written" | "conflict"> => {
  const ownerOf = (renewal: Purchase): StoredCustomer | undefined => {
    const stored = found.purchases.get(referenceText(renewal));
    return stored === undefined ? undefined : living.get(stored.customer);
  };
  let outcome: "unchanged" | "written" = "unchanged";
  for (const [owner, purchases] of Map.groupBy(others, ownerOf)) {
    if (owner === undefined) continue;
    const { environment, link, identifier } = owner;
    const { change } = planCustomerChange({
      ...inputOf(application, { environment, acknowledgementDue: null, origin }, found, moment),
      identities: [],
      purchases,
      survivor: owner,
      absorbed: [],
      link,
      identifier,
    });
    if (change === null) continue;
    if ((await write(change)) === "conflict") return "conflict";
    outcome = "written";
  }
  return outcome;
};
