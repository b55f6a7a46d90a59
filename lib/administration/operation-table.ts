import type { Audited } from "../customers/customer-change.ts";
import type {
  AuditEntry,
  Link,
  StoredCustomer,
  StoredIdentity,
  StoredPurchase,
  Transfer,
} from "../customers/records.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";

/** An entry as it is read: a later version may know further actions. */
export type AuditRecord = Omit<AuditEntry, "action"> & { readonly action: string };

/** Writes of the operator alone: no function of the service may send them. */
export interface OperationTable {
  /**
   * Takes a customer away from its account; to another one, where that is given. A move that broke off is completed with
   * the link it has, and is in the audit already.
   */
  relink(
    application: ApplicationId,
    customer: StoredCustomer,
    link: Link | null,
    audit: Audited,
  ): Promise<"written" | "conflict">;
  /**
   * Ends a customer: from here on whatever names it is refused, and nobody can write anything for it any more. What it
   * owned is replaced by `bury` afterwards.
   */
  end(application: ApplicationId, customer: StoredCustomer, audit: Audited): Promise<"written" | "conflict">;
  /** Deletes aliases that lead nowhere any more. */
  forget(application: ApplicationId, aliases: readonly CustomerId[]): Promise<void>;
  auditOf(application: ApplicationId): Promise<readonly AuditRecord[]>;
  /** Transfers of customers by links, oldest first. */
  transfersOf(application: ApplicationId): Promise<readonly Transfer[]>;
  /** Every living customer of an application, a page at a time. Reads the whole table: for the operator, seldom. */
  customersOf(application: ApplicationId): AsyncIterable<readonly CustomerId[]>;
}

/** All that belongs to a customer, its aliases' included. */
export interface Ownership {
  readonly purchases: readonly StoredPurchase[];
  /** Customers that were merged into it. */
  readonly aliases: readonly StoredCustomer[];
  readonly identities: readonly OwnedIdentity[];
}

export interface OwnedIdentity extends Pick<StoredIdentity, "item" | "customer"> {
  /** What it says; null: this version does not know its kind. */
  readonly identity: NamedIdentity | null;
}

/** An identity as its item names it. */
export interface NamedIdentity {
  readonly store: string;
  readonly kind: IdentityReference["kind"];
  readonly environment: string;
  readonly value: string;
}

/** Finds all that a customer owns, by an index that may be a moment behind. */
export type FindOwnership = (application: ApplicationId, customer: CustomerId) => Promise<Ownership>;
