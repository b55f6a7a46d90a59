import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import { referenceText, type PurchaseReference } from "../entitlements/purchase.ts";
import type { ApplicationId } from "../identifiers.ts";
import { tryAgain } from "../pause.ts";
import type { FactStore } from "./fact-store.ts";
import type { StoredCustomer } from "./records.ts";

/** A person's purchases and identities, verified by a store. */
export interface VerifiedNames {
  readonly purchases: readonly PurchaseReference[];
  readonly identities: readonly IdentityReference[];
}

/** Attempts before a missing customer counts as gone: it may be new. */
const ATTEMPTS = 4;

/**
 * Owner of the first owned purchase, or else of the first owned identity; aliases are followed. Two reads. Null: nobody, or
 * an erased customer.
 */
export const findOwner = async (
  { table, pause, now }: Pick<FactStore, "table" | "pause" | "now">,
  application: ApplicationId,
  { purchases, identities }: VerifiedNames,
): Promise<StoredCustomer | null> => {
  if (purchases.length === 0 && identities.length === 0) return null;
  const owner = await tryAgain<StoredCustomer | null>(ATTEMPTS, pause, async () => {
    const known = await table.findFacts(application, identities, purchases, now());
    const [named] = [
      ...purchases.map((purchase) => known.purchases.get(referenceText(purchase))),
      ...known.identities,
    ].flatMap((owned) => owned?.customer ?? []);
    if (named === undefined) return null;
    const { living } = await table.findCustomers(application, [named]);
    return living.get(named) ?? "conflict";
  });
  return owner === "conflict" ? null : owner;
};
