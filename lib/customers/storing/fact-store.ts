import type { AssertedBy, Environment } from "../../contract/schemas.ts";
import { DAY } from "../../duration.ts";
import type { UngrantedProduct } from "../../entitlements/catalog.ts";
import type { IdentityReference, Purchase, PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { Pause } from "../../pause.ts";
import type {
  AccountCustomer,
  AskSource,
  FoundCustomers,
  KnownFacts,
  StoredCustomer,
  StoredIdentity,
  StoredPurchase,
} from "./records.ts";

export interface Unowned {
  readonly identities: readonly IdentityReference[];
  readonly purchases: readonly PurchaseReference[];
}

export interface CustomerTable {
  /** Strongly consistent, in parallel batches of 100 keys. */
  findFacts(
    application: ApplicationId,
    identities: readonly IdentityReference[],
    purchases: readonly PurchaseReference[],
    moment: Instant,
  ): Promise<KnownFacts>;
  /** One round of reads, and one more for each alias step. A survivor older than its alias names is read again. */
  findCustomers(application: ApplicationId, identifiers: Iterable<CustomerId>): Promise<FoundCustomers>;
  /**
   * Whether the customers still have the versions read, and the unowned facts no owner: reads may have seen half of
   * a transaction. One TransactGetItems per 100 items, more for large customers.
   */
  areUnchanged(
    application: ApplicationId,
    customers: readonly StoredCustomer[],
    unowned: Unowned,
  ): Promise<boolean>;
  /** One strongly consistent Query. During a merge it may see both customers: absorbed ones are left out. */
  findAccount(application: ApplicationId, account: AccountId): Promise<readonly AccountCustomer[]>;
  /** Customers linked to an account by clients' claims alone, in the environment's counter. One read. */
  countClaims(application: ApplicationId, account: AccountId, environment: Environment): Promise<number>;
}

/** A request's claim that the facts' customer has an account. */
export interface Claim {
  readonly account: AccountId;
  readonly assertedBy: AssertedBy;
  /** An import's: it moves no customer that any other account has, and lifts no erasure. */
  readonly isImported?: true;
}

/** Production customers that clients' claims may link to an account; as many again of sandbox and Xcode together. */
export const CLAIMS_PER_ACCOUNT = 20;

/** Claims up to which one without an app transaction id is made: a person has as many of those as purchases. */
export const CLAIMS_WITHOUT_IDENTITY = 3;

/** A purchase to write, with the revision read; 0: it is new. */
export interface PurchaseWrite extends StoredPurchase {
  /** Change of its place in the queue: the time that it had there, and how its store is asked. Null: it keeps its place. */
  readonly move: { readonly from: Instant | null; readonly source: AskSource | null } | null;
}

/** All that one request changes: one customer, and those that turn out to be the same person. */
export interface CustomerChange {
  readonly application: ApplicationId;
  /** The customer as read; null: it is new. */
  readonly before: StoredCustomer | null;
  /** The customer afterwards. The omitted fields are set on write. */
  readonly after: Omit<StoredCustomer, "version" | "aliasOf" | "survivorVersion" | "absorbed" | "unsettled">;
  /** Holdings when only these first purchases are written: a large change takes several transactions. */
  readonly holdingsWith: (written: readonly StoredPurchase[]) => readonly Purchase[];
  /** Customers that become its aliases, as read. */
  readonly absorbed: readonly StoredCustomer[];
  /** Identities without an owner yet. */
  readonly identities: readonly IdentityReference[];
  /** Purchases to write, those that will be held first. */
  readonly purchases: readonly PurchaseWrite[];
  /** Claims of its account below which the change may add one; unset: {@link CLAIMS_PER_ACCOUNT}. */
  readonly claimsLimit?: number;
  /** Whether unexpired tombstones may be replaced. */
  readonly liftsErasures: boolean;
  /** Whether the application is told of its accounts' changes: each changed account is then due for a look. */
  readonly tellsChanges: boolean;
  /** Time of the change. Tombstones that expire at or before it no longer reserve anything. */
  readonly moment: Instant;
}

/** Customers absorbed per transaction: each takes its alias, account item, claims, look and transfer record. */
export const ABSORBED_PER_TRANSACTION = 16;

/** Writes a change. `conflict`: a concurrent write came first; read and decide again. */
export type WriteCustomerChange = (change: CustomerChange) => Promise<"written" | "conflict">;

/** Lifetime of the tombstones that reserve an erased customer's identities and purchases. */
export const ERASURE_BLOCKS_MILLISECONDS = 30 * DAY;

export interface Remains {
  readonly purchases: readonly StoredPurchase[];
  readonly identities: readonly Pick<StoredIdentity, "item" | "customer">[];
}

/**
 * Replaces an erased customer's remains, stored for `end` or its aliases, with tombstones that expire. Each must
 * still have the owner and the revision that were read: what a credential has linked since stays. `conflict`: one has
 * changed, or the customer exists; the others are written. Read them again before repeating it.
 */
export type Bury = (
  application: ApplicationId,
  end: CustomerId,
  remains: Remains,
  erasedUntil: Instant,
) => Promise<"written" | "conflict">;

export interface FactStore {
  readonly table: CustomerTable;
  readonly write: WriteCustomerChange;
  readonly bury: Bury;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before a retry: longer with each attempt, with jitter. */
  readonly pause: Pause;
  readonly now: () => Instant;
  /** Unset: {@link CLAIMS_PER_ACCOUNT}. */
  readonly claimsPerAccount?: number;
  /** Receives the products of verified purchases that grant nothing; unset: they are not reported. */
  readonly onUngranted?: (products: readonly UngrantedProduct[]) => void;
}

/**
 * Completes an erasure that was interrupted, or whose index lagged. A conflict needs no handling: a concurrent
 * request has buried the facts, or linked them again.
 */
export const buryRemains = async (
  { bury }: Pick<FactStore, "bury">,
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
