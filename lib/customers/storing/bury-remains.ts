import { DAY } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../../identifiers.ts";
import type { FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { StoredIdentity, StoredPurchase } from "./records.ts";

/** Lifetime of the tombstones that reserve an erased customer's identities and purchases. */
export const ERASURE_BLOCKS_MILLISECONDS = 30 * DAY;

export interface Remains {
  readonly purchases: readonly StoredPurchase[];
  readonly identities: readonly Pick<StoredIdentity, "item" | "customer">[];
}

/**
 * Replaces an erased customer's remains with tombstones that expire. Each must still have the owner and the revision
 * that were read: what a credential has linked since stays.
 *
 * `conflict`: one has changed, or the customer exists; the others are written. Read them again before repeating it.
 *
 * @param end the erased customer; its remains may be stored for its aliases
 */
export type Bury = (
  application: ApplicationId,
  end: CustomerId,
  remains: Remains,
  erasedUntil: Instant,
) => Promise<"written" | "conflict">;

/**
 * Completes erasures for known facts: one was interrupted, or its index lagged. A conflict needs no handling: a
 * concurrent request has buried the facts, or linked them again.
 */
export const buryRemains = async (
  bury: Bury,
  application: ApplicationId,
  known: KnownFacts,
  gone: FoundCustomers["gone"],
  moment: Instant,
): Promise<void> => {
  for (const end of new Set(gone.values())) {
    const isLeft = ({ customer }: StoredPurchase | StoredIdentity): boolean => gone.get(customer) === end;
    const remains: Remains = {
      purchases: [...known.purchases.values()].filter(isLeft),
      identities: known.identities.filter((identity) => identity !== null).filter(isLeft),
    };
    await bury(application, end, remains, moment + ERASURE_BLOCKS_MILLISECONDS);
  }
};
