import type { Instant } from "../entitlements/time.ts";
import { ABSORBED_PER_TRANSACTION } from "./customer-change.ts";
import type { PlanInput } from "./plan-customer-change.ts";
import type { Link, StoredCustomer } from "./records.ts";
import { resolveCustomer, type Claim } from "./resolve-customer.ts";
import { statedPurchases, type VerifiedFacts } from "./verified-facts.ts";

/** The link that the customers share, whatever the request claims; null if they have none or disagree. */
export const standingLink = (owners: readonly StoredCustomer[], moment: Instant): Link | null => {
  const standing = resolveCustomer(owners, null, moment);
  return standing.outcome === "resolved" ? standing.link : null;
};

type Merge = Pick<PlanInput, "survivor" | "absorbed" | "link">;

/**
 * Merges more than {@link ABSORBED_PER_TRANSACTION} customers in rounds, and stores facts only in the last one. If the
 * new link would contradict the customers left, a round keeps the link that its own customers share; the last round makes
 * the new one.
 */
export const mergeOf = (
  facts: VerifiedFacts,
  claim: Claim | null,
  { survivor, absorbed, link }: Merge,
  moment: Instant,
) => {
  if (survivor === null || absorbed.length <= ABSORBED_PER_TRANSACTION)
    return {
      identities: facts.identities,
      purchases: statedPurchases(facts),
      acknowledgementDue: facts.acknowledgementDue,
      survivor,
      absorbed,
      link,
      isRound: false,
    };
  const some = absorbed.slice(0, ABSORBED_PER_TRANSACTION);
  const others = absorbed.slice(ABSORBED_PER_TRANSACTION);
  const splits = resolveCustomer([{ ...survivor, link }, ...others], claim, moment).outcome === "refused";
  return {
    identities: [],
    purchases: [],
    acknowledgementDue: null,
    survivor,
    absorbed: some,
    link: splits ? standingLink([survivor, ...some], moment) : link,
    isRound: true,
  };
};
