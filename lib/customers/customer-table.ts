import type { Environment } from "../contract/schemas.ts";
import type { AssertedBy } from "../entitlements/entitlements.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import type { Purchase, PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { StoredCustomer, StoredIdentity, StoredPurchase } from "./records.ts";

/** Who is known by a request's identities and purchases. */
export interface KnownFacts {
  /** Each identity asked for, in the order asked; null: nobody's. */
  readonly identities: readonly (StoredIdentity | null)[];
  /** By `referenceText`. */
  readonly purchases: ReadonlyMap<string, StoredPurchase>;
  /** Those, by `referenceText`, that belonged to a customer who was erased, and whose erasure still blocks them. */
  readonly erasedPurchases: ReadonlySet<string>;
  /** Whether an erasure still blocks one of the identities. */
  readonly erasedIdentity: boolean;
}

/** The customers that facts are stored for, aliases among them. */
export const customersOf = ({ identities, purchases }: KnownFacts): ReadonlySet<CustomerId> =>
  new Set([
    ...identities.flatMap((identity) => identity?.customer ?? []),
    ...[...purchases.values()].map(({ customer }) => customer),
  ]);

/** Whether an erasure still blocks any of the facts. */
export const isErased = ({ erasedIdentity, erasedPurchases }: KnownFacts): boolean =>
  erasedIdentity || erasedPurchases.size > 0;

/** A customer and its holdings, as an account's read finds them. */
export interface AccountCustomer {
  readonly customer: CustomerId;
  readonly holdings: readonly Purchase[];
  readonly assertedBy: AssertedBy;
}

/**
 * Whom identifiers of customers lead to, aliases followed. One that is in neither map leads to a survivor whose item does
 * not show the merge yet, though it was read again and again.
 */
export interface FoundCustomers {
  /** By each identifier asked for: the customer that it leads to. Those that lead to one customer share its record. */
  readonly living: ReadonlyMap<CustomerId, StoredCustomer>;
  /** By each identifier that leads to nobody: the identifier at which its aliases end. */
  readonly gone: ReadonlyMap<CustomerId, CustomerId>;
}

/** Identities and purchases that belonged to nobody when they were read. */
export interface Unowned {
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly PurchaseReference[];
}

/**
 * Whether a customer was read as it was before an identity became its own: the identity's transaction is being applied, and
 * what is stored with it is not seen yet.
 */
export const isBehindIdentity = ({ identities }: KnownFacts, living: FoundCustomers["living"]): boolean =>
  identities.some((identity) => {
    const found = identity === null ? undefined : living.get(identity.customer);
    return (
      found !== undefined &&
      found.identifier === identity?.customer &&
      found.version < identity.customerVersion
    );
  });

/** Each customer once, however many identifiers lead to it. */
export const eachOnce = (living: FoundCustomers["living"]): readonly StoredCustomer[] => [
  ...new Set(living.values()),
];

/** Customers and what they own, read by key. */
export interface CustomerTable {
  /** One strongly consistent read, in parallel batches of 100 keys. */
  findFacts(
    application: ApplicationId,
    identities: readonly IdentityReference[],
    purchases: readonly PurchaseReference[],
    moment: Instant,
  ): Promise<KnownFacts>;
  /**
   * One strongly consistent read of all of them together, and one more for each step of an alias. A batch of reads is no
   * snapshot: a survivor that an alias has seen in a later version is read again.
   */
  findCustomers(application: ApplicationId, identifiers: Iterable<CustomerId>): Promise<FoundCustomers>;
  /**
   * Whether customers are as they were read, and what was nobody's still is, once every transaction is seen whole of which
   * those reads have seen a part: one TransactGetItems for every hundred, or more where customers are large.
   */
  areUnchanged(
    application: ApplicationId,
    customers: readonly StoredCustomer[],
    unowned: Unowned,
  ): Promise<boolean>;
  /**
   * The customers linked to an account, in order of identifier: one strongly consistent Query. A Query is no snapshot:
   * while two customers merge it may see either or both, so those that another lists as absorbed are left out.
   */
  findAccount(application: ApplicationId, account: AccountId): Promise<readonly AccountCustomer[]>;
  /** Customers of an account that clients alone have claimed, counted with those of the environment. One read. */
  countClaims(application: ApplicationId, account: AccountId, environment: Environment): Promise<number>;
}
