import type { Environment } from "../contract/schemas.ts";
import type { AssertedBy } from "../entitlements/entitlements.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";

/** A customer belongs to at most one account. */
export interface Link {
  readonly account: AccountId;
  readonly assertedBy: AssertedBy;
  readonly linkedAt: Instant;
}

/** A customer as stored. Whoever writes anything that belongs to it moves its version on. */
export interface StoredCustomer {
  readonly identifier: CustomerId;
  /** A customer is of one environment, as all its identities are. */
  readonly environment: Environment;
  readonly createdAt: Instant;
  readonly version: number;
  readonly link: Link | null;
  readonly holdings: readonly Purchase[];
  /** Whether a store has ever vouched for a purchase of it, held or not. */
  readonly hasPurchased: boolean;
  /** Customers that were merged into it while linked to its account, whose items of the account may still be there. */
  readonly absorbed: readonly CustomerId[];
  /** A move to another account is under way or broke off: the customer's item of that account is to be written. */
  readonly unsettled: boolean;
  /** The customer it was merged into: it has no link and no holdings of its own any more. */
  readonly aliasOf: CustomerId | null;
  /** Of an alias: the version from which on the survivor has what the alias had; 0: it is no alias, or does not say. */
  readonly survivorVersion: number;
}

/**
 * A purchase as stored, with the customer it was stored for (who may be an alias by now). Its revision moves with every
 * write, so that nobody joins new facts with facts that have been replaced since they were read.
 */
export interface StoredPurchase {
  readonly revision: number;
  readonly purchase: Purchase;
  readonly customer: CustomerId;
  /** Since when the store waits for an acknowledgement; null: it does not. */
  readonly acknowledgementDueSince: Instant | null;
}

/** A customer that a link moved to another account: because the application's policy says so, or a client's claim gave way. */
export interface Transfer {
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly because: "policy" | "claim-gave-way";
}

/** An operator's change of a customer: who, when and why. It names no account and no purchase, so it outlives an erasure. */
export interface AuditEntry {
  readonly action: "unlink" | "move" | "erase";
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly by: string;
  readonly reason: string;
}

/** An identity as stored, other than a purchase. */
export interface StoredIdentity {
  /** The table's name of the item. */
  readonly item: string;
  /** The customer that it was stored for, who may be an alias by now. */
  readonly customer: CustomerId;
  /** The customer's version with what was stored together with the identity; 0: it does not say. */
  readonly customerVersion: number;
}

/** An acknowledgement in the queue. */
export interface DueAcknowledgement extends PendingAcknowledgement {
  readonly application: ApplicationId;
  readonly dueSince: Instant;
}
