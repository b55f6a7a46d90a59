import type { Purchase } from "../entitlements/purchase.ts";
import type { IdentityReference } from "../table/keys.ts";
import type { PendingAcknowledgement } from "../table/records.ts";

/**
 * What a store has vouched for in one request: facts about one person. Nothing else reaches the table.
 */
export interface Evidence {
  /** Identities other than purchases: every purchase is an identity of its own. */
  readonly identities: readonly IdentityReference[];
  /** What the request proves. A purchase that was only mentioned (a replaced or expired token) is among them. */
  readonly purchases: readonly Purchase[];
  /** What the store waits for to be acknowledged; null: nothing. */
  readonly acknowledgementDue: PendingAcknowledgement | null;
}
