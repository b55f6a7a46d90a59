import { referenceText, type Purchase } from "../../entitlements/purchase.ts";
import type { Unowned } from "./fact-store.ts";
import { type StateContext, statedPurchases, type VerifiedFacts } from "./verified-facts.ts";
import { mergeOf, planCustomerChange, type Plan, type ToAcknowledge } from "./plan-customer-change.ts";
import { resolveCustomer } from "./resolve-customer.ts";

/** A refused link, like a notification, selects no product of a one-time purchase. Subscriptions select all lines. */
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
export const withoutErased = ({ facts, known }: Pick<StateContext, "facts" | "known">): VerifiedFacts => {
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

const unownedOf = ({ facts, known }: StateContext): Unowned => ({
  identities: facts.identities.filter((_, index) => known.identities[index] === null),
  purchases: statedPurchases(facts).filter((purchase) => !known.purchases.has(referenceText(purchase))),
});

/**
 * An unowned purchase goes to the owner of one that it mentions, else of its app transaction id; one that is only
 * mentioned, to the owner of what mentions it; else it is left out.
 */
const factsByOwner = ({ facts, known, living }: StateContext) => {
  const [named] = known.identities;
  const storedFor = (one: Purchase) => known.purchases.get(referenceText(one));
  const proven = facts.purchases.map(({ purchase, mentioned, identity }) => ({
    purchase,
    mentioned,
    owned:
      [purchase, ...mentioned].map(storedFor).find((one) => one !== undefined) ??
      (identity === null ? null : named),
  }));
  const owned = new Map([
    ...proven.flatMap((one) => one.mentioned.map((other) => [referenceText(other), one.owned] as const)),
    ...proven.map((one) => [referenceText(one.purchase), one.owned] as const),
  ]);
  return Map.groupBy(statedPurchases(facts), (purchase) => {
    const found = storedFor(purchase) ?? owned.get(referenceText(purchase));
    return found == null ? undefined : living.get(found.customer);
  });
};

/** Each purchase for its owner: nobody merges, and no link changes. */
const plansForOwners = (state: StateContext): readonly Plan[] =>
  [...factsByOwner(state)].flatMap(([survivor, purchases]) => {
    if (survivor === undefined) return [];
    const { link, identifier } = survivor;
    const nothing = { identities: [], absorbed: [], liftsErasures: false };
    return planCustomerChange(state, { ...nothing, purchases, survivor, link, identifier });
  });

/** Plans of the same request without an account, if it may merge; if that is refused too, one per owner. */
const plansWithoutClaim = (state: StateContext, { merges }: { readonly merges: boolean }) => {
  const unclaimed = resolveCustomer(state.owners, null, state.moment);
  if (!merges || unclaimed.outcome === "refused" || unclaimed.survivor === null)
    return { plans: plansForOwners(state), isRound: false };
  const { isRound, ...merge } = mergeOf({ ...state, claim: null }, unclaimed);
  const { identifier } = unclaimed.survivor;
  return { plans: [planCustomerChange(state, { ...merge, identifier, liftsErasures: false })], isRound };
};

const write = async ({ store }: StateContext, plans: readonly Plan[]): Promise<"written" | "conflict"> => {
  for (const { change } of plans)
    if (change !== null && (await store.write(change)) === "conflict") return "conflict";
  return "written";
};

/** Stores facts that name nobody, renewal infos, for the owners of their lineages. */
export const storeForOwners = (state: StateContext): Promise<"written" | "conflict"> =>
  write(state, plansForOwners(state));

/** Stores a refused request's facts. `conflict`, `round` (there is more to merge): decide the refusal again. */
export const keepRefusedFacts = async (
  refused: StateContext,
  how: { readonly merges: boolean },
): Promise<{ readonly toAcknowledge: ToAcknowledge | null } | "conflict" | "round"> => {
  const { store, application, known, owners } = refused;
  const facts = withoutErased({ facts: selectingNothing(refused.facts), known });
  const state = { ...refused, facts };
  const { plans, isRound } = plansWithoutClaim(state, how);
  // The reads may have seen half of a transaction, which must refuse nobody. The conditions of a write for a single owner
  // rule that out; otherwise the table is asked.
  const isProvenByWrite = owners.length === 1 && plans.length === 1 && plans[0]?.change !== null;
  if (!isProvenByWrite && !(await store.table.areUnchanged(application.identifier, owners, unownedOf(state))))
    return "conflict";
  if ((await write(state, plans)) === "conflict") return "conflict";
  if (isRound) return "round";
  return { toAcknowledge: plans.map((plan) => plan.toAcknowledge).find((one) => one !== null) ?? null };
};
