import type { Application } from "../applications/application.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import { eachOnce, type FoundCustomers, type KnownFacts, type Unowned } from "./customer-table.ts";
import type { FactStore } from "./fact-store.ts";
import { mergeOf } from "./merge.ts";
import { inputOf, planCustomerChange, type Plan, type ToAcknowledge } from "./plan-customer-change.ts";
import type { StoredCustomer } from "./records.ts";
import { resolveCustomer } from "./resolve-customer.ts";
import { statedPurchases, type VerifiedFacts } from "./verified-facts.ts";

/**
 * Products of a one-time purchase are selected by a link that is made; a refused one selects none, as a notification does.
 * (A subscription selects all of its lines, also once it is paid.)
 */
const selectingNothing = (facts: VerifiedFacts): VerifiedFacts => ({
  ...facts,
  purchases: facts.purchases.map((proven) => {
    const { store, lines } = proven.purchase;
    return store === "android-store" && lines.every(({ nature }) => nature !== "auto_renewable")
      ? { ...proven, purchase: { ...proven.purchase, selectedProducts: [] } }
      : proven;
  }),
});

/** Drops facts that a tombstone reserves: a refused link lifts no erasure. */
export const withoutErased = (facts: VerifiedFacts, known: KnownFacts): VerifiedFacts => {
  const remains = (purchase: Purchase): boolean => !known.erasedPurchases.has(referenceText(purchase));
  return {
    ...facts,
    identities: known.erasedIdentity ? [] : facts.identities,
    purchases: facts.purchases
      .filter(({ purchase }) => remains(purchase))
      .map((proven) => ({ ...proven, mentioned: proven.mentioned.filter(remains) })),
    renewals: facts.renewals.filter(remains),
  };
};

const unownedOf = (facts: VerifiedFacts, known: KnownFacts): Unowned => ({
  identities: facts.identities.filter((_, index) => known.identities[index] === null),
  purchases: statedPurchases(facts).filter((purchase) => !known.purchases.has(referenceText(purchase))),
});

/**
 * Groups the purchases of contradicting facts by owner. An unowned purchase goes to the owner of a purchase that it
 * mentions, else to the owner of its app transaction id, else to the owner of one that mentions it, else it is left out.
 */
const factsByOwner = (
  facts: VerifiedFacts,
  known: KnownFacts,
  living: FoundCustomers["living"],
): ReadonlyMap<StoredCustomer, readonly Purchase[]> => {
  const [named] = known.identities;
  const proofs = new Map(facts.purchases.map((proven) => [referenceText(proven.purchase), proven]));
  const predecessorsOwner = (
    purchase: Purchase,
    later: readonly string[] = [],
  ): StoredCustomer | undefined => {
    const reference = referenceText(purchase);
    const stored = known.purchases.get(reference);
    if (stored !== undefined || later.includes(reference)) return stored && living.get(stored.customer);
    const { mentioned = [], identity = null } = proofs.get(reference) ?? {};
    return (
      mentioned
        .map((other) => predecessorsOwner(other, [...later, reference]))
        .find((owner) => owner !== undefined) ??
      (identity === null || named == null ? undefined : living.get(named.customer))
    );
  };
  const ownerOf = (purchase: Purchase): StoredCustomer | undefined => {
    const isOf = (other: Purchase): boolean => referenceText(other) === referenceText(purchase);
    const successor = facts.purchases.find(({ mentioned }) => mentioned.some(isOf));
    return predecessorsOwner(purchase) ?? (successor && predecessorsOwner(successor.purchase));
  };
  const owned = [
    ...facts.purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]),
    ...facts.renewals,
  ].map((purchase) => ({ owner: ownerOf(purchase), purchase }));
  const byOwner = new Map<StoredCustomer, Purchase[]>();
  for (const { owner, purchase } of owned)
    if (owner !== undefined) byOwner.set(owner, [...(byOwner.get(owner) ?? []), purchase]);
  return byOwner;
};

/**
 * Plans for a refused link: that of the same request without an account, if it may merge and bind, or, if that is refused
 * too, one per owner.
 */
const plansWithoutClaim = (
  application: Application,
  facts: VerifiedFacts,
  known: KnownFacts,
  living: FoundCustomers["living"],
  moment: Instant,
  merges: boolean,
): { readonly plans: readonly Plan[]; readonly isRound: boolean } => {
  const common = inputOf(application, facts, known, moment);
  const unclaimed = resolveCustomer(eachOnce(living), null, moment);
  if (merges && unclaimed.outcome === "resolved" && unclaimed.survivor !== null) {
    const { isRound, ...merge } = mergeOf(facts, null, unclaimed, moment);
    const plan = planCustomerChange({ ...common, ...merge, identifier: unclaimed.survivor.identifier });
    return { plans: [plan], isRound };
  }
  const plans = [...factsByOwner(facts, known, living)].map(([owner, purchases]) =>
    planCustomerChange({
      ...common,
      identities: [],
      purchases,
      survivor: owner,
      absorbed: [],
      link: owner.link,
      identifier: owner.identifier,
    }),
  );
  return { plans, isRound: false };
};

/**
 * Stores the facts of a refused request. `conflict`: a concurrent write came first. `round`: there is more to merge.
 * Decide the refusal again after either.
 *
 * @param merges whether customers become one, and identities theirs, as by the same request without an account
 */
export const keepRefusedFacts = async (
  store: FactStore,
  application: Application,
  facts: VerifiedFacts,
  known: KnownFacts,
  living: FoundCustomers["living"],
  moment: Instant,
  merges = true,
): Promise<{ readonly toAcknowledge: ToAcknowledge | null } | "conflict" | "round"> => {
  const { plans, isRound } = plansWithoutClaim(
    application,
    withoutErased(selectingNothing(facts), known),
    known,
    living,
    moment,
    merges,
  );
  // The reads may have seen half of a transaction, which must refuse nobody. The conditions of a write for a single owner
  // rule that out; otherwise the table is asked.
  const owners = eachOnce(living);
  const isProvenByWrite = owners.length === 1 && plans.length === 1 && plans[0]?.change !== null;
  if (!isProvenByWrite) {
    const unowned = unownedOf(facts, known);
    if (!(await store.table.areUnchanged(application.identifier, owners, unowned))) return "conflict";
  }
  for (const { change } of plans)
    if (change !== null && (await store.write(change)) === "conflict") return "conflict";
  if (isRound) return "round";
  const due = plans.map(({ toAcknowledge }) => toAcknowledge).find((one) => one !== null);
  return { toAcknowledge: due ?? null };
};
