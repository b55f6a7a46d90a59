import type { Environment } from "../contract/schemas.ts";
import type { IdentityReference, ProvenPurchase } from "../entitlements/proven-purchase.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";

/** Facts about one person that a store has verified in one request. Nothing else reaches the table. */
export interface VerifiedFacts {
  /** The environment of all the facts. */
  readonly environment: Environment;
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly ProvenPurchase[];
  /** The acknowledgement that the store waits for; null: none. */
  readonly acknowledgementDue: PendingAcknowledgement | null;
}

/** All purchases of the facts, with those that are only mentioned (a replaced token). */
export const statedPurchases = ({ purchases }: Pick<VerifiedFacts, "purchases">): readonly Purchase[] =>
  purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]);
