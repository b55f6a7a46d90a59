import { ServiceError } from "../contract/errors.ts";
import type { Instant } from "../entitlements/time.ts";

/**
 * Outcome of asking a store about one purchase.
 * - `stored`: its answer is stored, and the refresh moved with it.
 * - `over`: the store has dropped the purchase, or it is not stored any more: no refresh is due again.
 * - `unknown`: the store, which once vouched for the purchase, says that it knows none. Stores have said so by mistake, and
 *   an Android purchase's token is in its refresh alone: the purchase is asked about again, until it is long over.
 * - `failed`: it could not be asked or its answer not be used, for a reason that concerns this purchase alone.
 * - `unavailable`: the store did not answer, or refused. `retryAt`: the time that it named; null: none. `isOfThisPurchase`:
 *   it refused for a reason that may concern this purchase alone, and last.
 * - `credential-rejected`: the store refuses the application's credential.
 */
export type RefreshOutcome =
  | { readonly outcome: "stored" | "over" | "unknown" | "failed" | "credential-rejected" }
  | {
      readonly outcome: "unavailable";
      readonly retryAt: Instant | null;
      readonly isOfThisPurchase?: boolean;
    };

export const isOfErased = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND";

/**
 * The outcome for facts of an erased customer. A purchase that is buried leaves the queue; one that only names an erased
 * customer's stays. Rethrows any other error.
 */
export const failedIfErased = (error: unknown): RefreshOutcome => {
  if (isOfErased(error)) return { outcome: "failed" };
  throw error;
};
