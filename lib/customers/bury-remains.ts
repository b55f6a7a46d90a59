import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import { ERASURE_BLOCKS_MILLISECONDS, type Remains } from "../table/burial.ts";
import type { FoundCustomers, KnownFacts } from "../table/customers.ts";
import { keys } from "../table/keys.ts";

/** Buries what a customer that is gone has left, as `bury` of the table does. */
export type Bury = (
  application: ApplicationId,
  end: CustomerId,
  remains: Remains,
  erasedUntil: Instant,
) => Promise<"written" | "conflict">;

/**
 * Completes the erasure of customers that are gone, of what is known here: it broke off, or the index that it went by was
 * behind. Whoever was faster has done the same, or has linked it anew.
 *
 * @param identities those that `known` tells of
 */
export const buryRemains = async (
  bury: Bury,
  application: ApplicationId,
  identities: readonly IdentityReference[],
  known: KnownFacts,
  gone: FoundCustomers["gone"],
  moment: Instant,
): Promise<void> => {
  for (const end of new Set(gone.values())) {
    const remains: Remains = {
      purchases: [...known.purchases.values()].filter(({ customer }) => gone.get(customer) === end),
      identities: identities.flatMap((identity, index) => {
        const customer = known.identities[index];
        return customer != null && gone.get(customer) === end
          ? [{ key: keys.identity(application, identity), customer }]
          : [];
      }),
    };
    await bury(application, end, remains, moment + ERASURE_BLOCKS_MILLISECONDS);
  }
};
