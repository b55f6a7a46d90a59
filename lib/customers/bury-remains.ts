import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import type { FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { StoredIdentity, StoredPurchase } from "./records.ts";

/** Lifetime of the tombstones that refuse an erased customer's identities and purchases. */
export const ERASURE_BLOCKS_MILLISECONDS = 30 * 24 * 3600 * 1000;

/** Purchases and identities of a customer that is gone. */
export interface Remains {
  readonly purchases: readonly StoredPurchase[];
  readonly identities: readonly Pick<StoredIdentity, "item" | "customer">[];
}

/**
 * Replaces what a customer that is gone has left by tombstones that expire. Each is replaced where its owner is still the
 * one that was read, for a person who has signed up again meanwhile keeps the purchases that a credential has linked.
 *
 * `conflict`: some have another owner by now, or the customer is there; the others are buried. Idempotent.
 *
 * @param end the customer that is gone, at the end of the aliases that what it left may be stored for
 */
export type Bury = (
  application: ApplicationId,
  end: CustomerId,
  remains: Remains,
  erasedUntil: Instant,
) => Promise<"written" | "conflict">;

/**
 * Completes the erasure of customers that are gone, of what is known here: it broke off, or the index that it went by was
 * behind. Whoever was faster has done the same, or has linked it anew.
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
