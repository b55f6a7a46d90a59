import type { Application } from "../../applications/application.ts";
import { ENVIRONMENTS } from "../../contract/schemas.ts";
import { customersOf, eachOnce, isErased } from "../../customers/storing/records.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import type { IdentityReference, PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/purchase-token.ts";
import { storeIdentifier } from "../../stores/ios-store/fields.ts";

/**
 * Finds customers by a name that a store or `account show` uses, in any environment: an iOS original transaction id or
 * app transaction id, an Android purchase token, or a purchase key.
 */
export const findCustomersKnownAs = async (
  customers: Pick<CustomerTable, "findFacts" | "findCustomers">,
  application: Application,
  name: string,
  moment: Instant,
) => {
  // Any other name can only be a purchase token, possibly too long for a key.
  const keys = storeIdentifier().safeParse(name).success ? [purchaseKey(name)] : [];
  const purchases = ENVIRONMENTS.flatMap((environment): PurchaseReference[] => [
    ...[purchaseKeyOfToken(name), ...keys].map((key) => ({ store: "android-store" as const, environment, key })),
    ...keys.map((key) => ({ store: "ios-store" as const, environment, key })),
  ]);
  const identities = ENVIRONMENTS.flatMap((environment): IdentityReference[] =>
    keys.map((value) => ({ store: "ios-store", kind: "app-transaction", environment, value })),
  );
  const known = await customers.findFacts(application.identifier, identities, purchases, moment);
  const { living, gone } = await customers.findCustomers(application.identifier, customersOf(known));
  return {
    customers: eachOnce(living),
    /** Customers that the name leads to and that no longer exist: their erasure was interrupted. */
    gone: [...new Set(gone.values())],
    /** An erased customer's tombstone still reserves it. */
    erased: isErased(known),
  };
};
