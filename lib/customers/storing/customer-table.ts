import type { AssertedBy, Environment } from "../../contract/schemas.ts";
import type { Holding } from "../../entitlements/timeline.ts";
import type { IdentityReference, Purchase, PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { StoredCustomer, StoredIdentity, StoredPurchase } from "./records.ts";

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

export interface AccountCustomer {
  readonly customer: CustomerId;
  readonly holdings: readonly Purchase[];
  readonly assertedBy: AssertedBy;
}

export const accountHoldings = (customers: readonly AccountCustomer[]): readonly Holding[] =>
  customers.flatMap(({ customer, holdings, assertedBy }) =>
    holdings.map((purchase) => ({ customerIdentifier: customer, assertedBy, purchase })),
  );

/** Customers that identifiers lead to, aliases followed. In neither map: the survivor does not show the merge yet. */
export interface FoundCustomers {
  /** By requested identifier. Identifiers of one customer share its object. */
  readonly living: ReadonlyMap<CustomerId, StoredCustomer>;
  /** By requested identifier that leads to nobody: the last identifier of its alias chain. */
  readonly gone: ReadonlyMap<CustomerId, CustomerId>;
}

export interface Unowned {
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly PurchaseReference[];
}

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

export const eachOnce = (living: FoundCustomers["living"]): readonly StoredCustomer[] => [
  ...new Set(living.values()),
];

export interface CustomerTable {
  /** Strongly consistent, in parallel batches of 100 keys. */
  findFacts(
    application: ApplicationId,
    identities: readonly IdentityReference[],
    purchases: readonly PurchaseReference[],
    moment: Instant,
  ): Promise<KnownFacts>;
  /**
   * One round of reads, and one more for each alias step. A survivor older than the version its alias names is read
   * again.
   */
  findCustomers(application: ApplicationId, identifiers: Iterable<CustomerId>): Promise<FoundCustomers>;
  /**
   * Whether the customers still have the versions read, and the unowned facts no owner. Earlier reads may have seen
   * half of a transaction; TransactGetItems does not. One call per 100 items, more for large customers.
   */
  areUnchanged(
    application: ApplicationId,
    customers: readonly StoredCustomer[],
    unowned: Unowned,
  ): Promise<boolean>;
  /**
   * Customers linked to an account: one strongly consistent Query. During a merge it may see both customers: those that
   * another lists as absorbed are left out.
   */
  findAccount(application: ApplicationId, account: AccountId): Promise<readonly AccountCustomer[]>;
  /** Customers linked to an account by clients' claims alone, in the environment's counter. One read. */
  countClaims(application: ApplicationId, account: AccountId, environment: Environment): Promise<number>;
}
