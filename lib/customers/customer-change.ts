import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import type { Purchase, PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { AuditEntry, DueAcknowledgement, StoredCustomer, StoredPurchase } from "./records.ts";

/** All that one request changes, of one customer and of those who turn out to be the same person. */
export interface CustomerChange {
  readonly application: ApplicationId;
  /** As it was read; null: it is new. */
  readonly before: StoredCustomer | null;
  /** As it shall be; what only the table needs is added when it is written. */
  readonly after: Omit<StoredCustomer, "version" | "aliasOf" | "survivorVersion" | "absorbed" | "unsettled">;
  /** Holdings once only the first of the change's purchases are written: a large change takes several transactions. */
  readonly holdingsWith: (written: readonly StoredPurchase[]) => readonly Purchase[];
  /** Customers that become aliases of this one, as they were read. */
  readonly absorbed: readonly StoredCustomer[];
  /** Identities that nobody has yet. */
  readonly identities: readonly IdentityReference[];
  /** Purchases to write, those that will be held first, with the revision each was read at; 0: it is new. */
  readonly purchases: readonly StoredPurchase[];
  /** Acknowledgements that become due with the change, or are due no more. */
  readonly acknowledgements: {
    readonly due: readonly DueAcknowledgement[];
    readonly done: readonly { readonly purchase: PurchaseReference; readonly dueSince: Instant }[];
  };
  /** Customers that an account may have by clients' claims alone, of one environment. */
  readonly claimsPerAccount: number;
  /** Whether tombstones of erased customers give way before their time. */
  readonly liftsErasures: boolean;
  /** The operator's audit entry; null: the change is a request's, which records moves as transfers. */
  readonly audit: Audited | null;
  /** Tombstones that end at this moment or before no longer block. */
  readonly moment: Instant;
}

/** An audit entry, and the identifier that tells it from another of the same millisecond. */
export interface Audited {
  readonly entryIdentifier: string;
  readonly entry: AuditEntry;
}

/** A change by an operator, of one customer's link or holdings and of nothing that it owns. */
export const operatorChange = (
  application: ApplicationId,
  before: StoredCustomer,
  difference: Partial<Pick<StoredCustomer, "link" | "holdings">>,
  moment: Instant,
  audit: Audited | null = null,
): CustomerChange => ({
  application,
  before,
  after: { ...before, ...difference },
  holdingsWith: () => difference.holdings ?? before.holdings,
  absorbed: [],
  identities: [],
  purchases: [],
  acknowledgements: { due: [], done: [] },
  claimsPerAccount: 0,
  liftsErasures: false,
  audit,
  moment,
});

/**
 * Customers absorbed in one transaction. Each may take four items: its alias, its item of an account, that account's
 * count of claims, and the record of its transfer.
 */
export const ABSORBED_PER_TRANSACTION = 20;

/** Writes a change. `conflict`: somebody was faster; read again and decide anew. */
export type WriteCustomerChange = (change: CustomerChange) => Promise<"written" | "conflict">;
