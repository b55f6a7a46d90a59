import type { AssertedBy, Environment, ProductKind } from "../../contract/schemas.ts";
import type { NextAsk } from "../../entitlements/next-ask.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { Holding } from "../../entitlements/timeline.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";

export interface Link {
  readonly account: AccountId;
  readonly assertedBy: AssertedBy;
  readonly linkedAt: Instant;
}

/** A customer as stored. Every write of it increments the version. */
export interface StoredCustomer {
  readonly identifier: CustomerId;
  /** Environment of the customer and of all its identities. */
  readonly environment: Environment;
  readonly createdAt: Instant;
  readonly version: number;
  readonly link: Link | null;
  readonly holdings: readonly Purchase[];
  /** Whether a store has ever verified a purchase of it, held or not. */
  readonly hasPurchased: boolean;
  /** Customers merged into it while linked to the same account; their account items may still exist. */
  readonly absorbed: readonly CustomerId[];
  /** A move to another account is under way or was interrupted: the item in that account is still to be written. */
  readonly unsettled: boolean;
  /** The customer it was merged into; an alias has no link and no holdings. Null: it is no alias. */
  readonly aliasOf: CustomerId | null;
  /** For an alias: the survivor's first version that includes it. 0: no alias, or unknown. */
  readonly survivorVersion: number;
}

export interface Acknowledgement {
  readonly dueSince: Instant;
  /** Time after which Google refunds the purchase. */
  readonly deadline: Instant;
}

/** A purchase, and the customer it was stored for, possibly an alias by now. Every write raises the revision. */
export interface StoredPurchase {
  readonly revision: number;
  readonly purchase: Purchase;
  readonly customer: CustomerId;
  readonly acknowledgement: Acknowledgement | null;
  /** The next question to its store, in the queue of its bundle or package; null: none. */
  readonly ask: NextAsk | null;
  /** The bundle or package that sold it; null: not known. */
  readonly bundleOrPackage: string | null;
}

/** Parameters of a look-up in the Android store. Holds the purchase token, so it is never logged. */
export interface AndroidStoreSource {
  readonly store: "android-store";
  readonly packageName: string;
  readonly purchaseToken: string;
  readonly productKind: ProductKind;
}

/** App of an iOS purchase, which is asked about by its original transaction id. */
export interface IosStoreSource {
  readonly store: "ios-store";
  readonly bundleIdentifier: string;
}

export type AskSource = AndroidStoreSource | IosStoreSource;

/** Each bundle or package has a credential, a quota and a queue of its own. */
export const bundleOrPackageOf = (source: AskSource): string =>
  source.store === "ios-store" ? source.bundleIdentifier : source.packageName;

/** A move to another account by a link: the application's policy allows it, or a client's claim gave way. */
export interface Transfer {
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly because: "policy" | "claim-gave-way";
}

export interface StoredIdentity {
  /** Text of the item's key, in the table's form. */
  readonly item: string;
  /** The customer it was stored for, possibly an alias by now. */
  readonly customer: CustomerId;
  /** The customer's version as written in the identity's transaction; 0: unknown. */
  readonly customerVersion: number;
}

export interface KnownFacts {
  /** One entry for each requested identity, in the same order; null: no owner. */
  readonly identities: readonly (StoredIdentity | null)[];
  /** Keyed by `referenceText`. */
  readonly purchases: ReadonlyMap<string, StoredPurchase>;
  /** By `referenceText`: purchases that an erased customer's tombstone still reserves. */
  readonly erasedPurchases: ReadonlySet<string>;
  /** Whether a tombstone still reserves one of the identities. */
  readonly erasedIdentity: boolean;
}

/** Customers that the facts are stored for, aliases included. */
export const customersOf = ({ identities, purchases }: KnownFacts): ReadonlySet<CustomerId> =>
  new Set([
    ...identities.flatMap((identity) => identity?.customer ?? []),
    ...[...purchases.values()].map(({ customer }) => customer),
  ]);

export const isErased = ({ erasedIdentity, erasedPurchases }: KnownFacts): boolean =>
  erasedIdentity || erasedPurchases.size > 0;

/** Customers that identifiers lead to, aliases followed. In neither map: the survivor does not show the merge yet. */
export interface FoundCustomers {
  /** By requested identifier. Identifiers of one customer share its object. */
  readonly living: ReadonlyMap<CustomerId, StoredCustomer>;
  /** By requested identifier that leads to nobody: the last identifier of its alias chain. */
  readonly gone: ReadonlyMap<CustomerId, CustomerId>;
}

export const eachOnce = (living: FoundCustomers["living"]): readonly StoredCustomer[] => [
  ...new Set(living.values()),
];

/** Whether a customer was read before one of its identities' transaction was applied: other facts may be missing. */
export const isBehindIdentity = ({ identities }: KnownFacts, living: FoundCustomers["living"]): boolean =>
  identities.some((identity) => {
    const found = identity === null ? undefined : living.get(identity.customer);
    return (
      found !== undefined &&
      found.identifier === identity?.customer &&
      found.version < identity.customerVersion
    );
  });

export interface AccountCustomer {
  readonly customer: CustomerId;
  readonly holdings: readonly Purchase[];
  readonly assertedBy: AssertedBy;
}

export const accountHoldings = (customers: readonly AccountCustomer[]): readonly Holding[] =>
  customers.flatMap(({ customer, holdings, assertedBy }) =>
    holdings.map((purchase) => ({ customerIdentifier: customer, assertedBy, purchase })),
  );
