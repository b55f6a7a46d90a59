import type { Application } from "../../applications/application.ts";
import { ENVIRONMENTS } from "../../contract/schemas.ts";
import { customersOf, eachOnce, isErased, type CustomerTable } from "../../customers/storing/customer-table.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import type { IdentityReference } from "../../entitlements/proven-purchase.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey, type CustomerId } from "../../identifiers.ts";
import { purchaseKeyOfToken } from "../../stores/android-store/purchase-token.ts";
import { storeIdentifier } from "../../stores/ios-store/fields.ts";

export interface KnownCustomers {
  readonly customers: readonly StoredCustomer[];
  /** Customers that the name leads to and that no longer exist: their erasure was interrupted. */
  readonly gone: readonly CustomerId[];
  /** An erased customer's tombstone still reserves it. */
  readonly erased: boolean;
}

/**
 * Finds customers by a name that a store or `account show` uses, in any environment: an iOS original transaction id or
 * app transaction id, an Android purchase token, or a purchase key.
 */
export const findCustomersKnownAs = async (
  customers: Pick<CustomerTable, "findFacts" | "findCustomers">,
  application: Application,
  name: string,
  moment: Instant,
): Promise<KnownCustomers> => {
  // Any other name can only be a purchase token, possibly too long for a key.
  const asItIs = storeIdentifier().safeParse(name).success;
  const purchases = ENVIRONMENTS.flatMap((environment): PurchaseReference[] => [
    { store: "android-store", environment, key: purchaseKeyOfToken(name) },
    ...(asItIs
      ? [
          { store: "android-store" as const, environment, key: purchaseKey(name) },
          { store: "ios-store" as const, environment, key: purchaseKey(name) },
        ]
      : []),
  ]);
  const identities = asItIs
    ? ENVIRONMENTS.map((environment): IdentityReference => ({
        store: "ios-store",
        kind: "app-transaction",
        environment,
        value: name,
      }))
    : [];
  const known = await customers.findFacts(application.identifier, identities, purchases, moment);
  const { living, gone } = await customers.findCustomers(application.identifier, customersOf(known));
  return {
    customers: eachOnce(living),
    gone: [...new Set(gone.values())],
    erased: isErased(known),
  };
};
