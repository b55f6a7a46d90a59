import { ServiceError } from "../contract/errors.ts";
import type { Instant } from "../entitlements/time.ts";

/**
 * Outcome of asking a store about one purchase.
 * - `stored`: its answer is stored, and its next question set with it. `isAcknowledged`: whether its acknowledgement was made;
 *   null: none was to be made. `isRefunded`: the store has refunded it, because it was not acknowledged in time.
 * - `over`: the purchase is not stored any more: it leaves the queue.
 * - `unknown`: the store does not know, or has dropped, the purchase that it once vouched for. Stores have said so by mistake,
 *   and an Android purchase's token is stored only in its queue, so the purchase is asked about again until it is long over.
 * - `unconfigured`: the application has no configuration, or no key, for it. It may get one again, until the purchase is
 *   long over.
 * - `failed`: the store could not be asked or its answer not used, for a reason specific to this purchase.
 * - `unstored`: this service failed, so the answer is not stored.
 * - `unavailable`: the store did not answer, or refused. `retryAt`: the time that it named; null: none. `isOfThisPurchase`:
 *   the refusal may be specific to this purchase, and permanent.
 * - `credential-rejected`: the store refuses the application's credential.
 */
export type AskOutcome =
  | {
      readonly outcome: "stored";
      readonly isAcknowledged?: boolean | null;
      readonly isRefunded?: boolean;
    }
  | {
      readonly outcome: "over" | "unknown" | "unconfigured" | "failed" | "unstored" | "credential-rejected";
    }
  | {
      readonly outcome: "unavailable";
      readonly retryAt: Instant | null;
      readonly isOfThisPurchase?: boolean;
    };

export const isOfErased = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === "CUSTOMER_NOT_FOUND";

/**
 * Outcome for an erased customer's facts. A buried purchase has left the queue; one that only mentions one stays in it.
 * Rethrows any other error.
 */
export const failedIfErased = (error: unknown): AskOutcome => {
  if (isOfErased(error)) return { outcome: "failed" };
  throw error;
};
