import { ABSORBED_PER_TRANSACTION } from "./customer-change.ts";
import type { Instant } from "../entitlements/time.ts";
import type { StateContext } from "./fact-store.ts";
import type { Merge } from "./plan-customer-change.ts";
import type { Link, StoredCustomer } from "./records.ts";
import { resolveCustomer } from "./resolve-customer.ts";
import { statedPurchases } from "./verified-facts.ts";

/** The link that the customers share, whatever the request claims; null if they have none or disagree. */
export const standingLink = (owners: readonly StoredCustomer[], moment: Instant): Link | null => {
  const standing = resolveCustomer(owners, null, moment);
  return standing.outcome === "resolved" ? standing.link : null;
};

/**
 * Merges more than {@link ABSORBED_PER_TRANSACTION} customers in rounds, and stores facts only in the last one. If the
 * new link would contradict the customers left, a round keeps the link that its own customers share; the last round makes
 * the new one.
 */
export const mergeOf = (
  { facts, claim, moment }: Pick<StateContext, "facts" | "claim" | "moment">,
  { survivor, absorbed, link }: Pick<Merge, "survivor" | "absorbed" | "link">,
) => {
  if (survivor === null || absorbed.length <= ABSORBED_PER_TRANSACTION) {
    const { identities } = facts;
    return { identities, purchases: statedPurchases(facts), survivor, absorbed, link, isRound: false };
  }
  const some = absorbed.slice(0, ABSORBED_PER_TRANSACTION);
  const others = absorbed.slice(ABSORBED_PER_TRANSACTION);
  const splits = resolveCustomer([{ ...survivor, link }, ...others], claim, moment).outcome === "refused";
  return {
    identities: [],
    purchases: [],
    survivor,
    absorbed: some,
    link: splits ? standingLink([survivor, ...some], moment) : link,
    isRound: true,
  };
};
