import type { Environment } from "../contract/schemas.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { IdentityReference, ProvenPurchase } from "../entitlements/proven-purchase.ts";
import type { PendingAcknowledgement } from "../table/records.ts";

/**
 * What a store has vouched for in one request: facts about one person. Nothing else reaches the table.
 */
export interface Evidence {
  /** All of it is of one environment. */
  readonly environment: Environment;
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly ProvenPurchase[];
  /** What the store waits for to be acknowledged; null: nothing. */
  readonly acknowledgementDue: PendingAcknowledgement | null;
}

/** Every purchase that the evidence says anything of, those that are only mentioned (a replaced token) among them. */
export const statedPurchases = ({ purchases }: Pick<Evidence, "purchases">): readonly Purchase[] =>
  purchases.flatMap(({ purchase, mentioned }) => [purchase, ...mentioned]);
