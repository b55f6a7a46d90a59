import type { IosStoreConfiguration } from "../applications/application.ts";
import type { Environment } from "../contract/schemas.ts";
import type { IdentityReference, ProvenPurchase } from "../entitlements/proven-purchase.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";
import type { FactsOrigin } from "./ask.ts";

/** Facts about one person that a store has verified in one request. Nothing else reaches the table. */
export interface VerifiedFacts {
  /** The environment of all the facts. */
  readonly environment: Environment;
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly ProvenPurchase[];
  /** Whether a client without a credential chose what comes together (`personsIn`); unset: no. */
  readonly isChosenByClient?: boolean;
  /**
   * Renewal infos, each as a fact of its lineage (`renewedPurchase`). They name nobody: one whose lineage has no owner
   * is ignored.
   */
  readonly renewals: readonly Purchase[];
  /** Whether the payment of the request's purchase is pending, or unknown where the store did not answer; unset: no. */
  readonly isPending?: boolean;
  /** The acknowledgement that the store waits for; null: none. */
  readonly acknowledgementDue: PendingAcknowledgement | null;
  /** Null: no store can be asked about these facts, so their questions stay as they are. */
  readonly origin: FactsOrigin | null;
}

/** Origin of facts of an app. Without a key of the App Store Server API, the store cannot be asked again. */
export const iosStoreOrigin = (
  { bundleIdentifier, serverApi }: IosStoreConfiguration,
  askedAt: Instant | null,
): FactsOrigin => ({
  source: { store: "ios-store", bundleIdentifier },
  canAsk: serverApi !== null,
  askedAt,
});

type Stated = Pick<VerifiedFacts, "purchases" | "renewals">;

const referencesIn = ({ purchases }: Stated): ReadonlySet<string> =>
  new Set(purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned].map(referenceText)));

/**
 * All purchases that the facts prove, with those that are only mentioned (a replaced token) and the renewal infos of
 * both.
 */
export const statedPurchases = (facts: Stated): readonly Purchase[] => {
  const stated = facts.purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]);
  if (facts.renewals.length === 0) return stated;
  const references = referencesIn(facts);
  return [...stated, ...facts.renewals.filter((renewal) => references.has(referenceText(renewal)))];
};

/** Renewal infos of lineages that the facts do not prove. */
export const otherRenewals = (facts: Stated): readonly Purchase[] => {
  if (facts.renewals.length === 0) return [];
  const references = referencesIn(facts);
  return facts.renewals.filter((renewal) => !references.has(referenceText(renewal)));
};
