import type { Environment } from "../contract/schemas.ts";
import type { AssertedBy } from "../entitlements/entitlements.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { PendingAcknowledgement } from "../stores/android-store/reading.ts";

/** The one account that a customer belongs to. */
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

/**
 * A purchase, and the customer it was stored for, possibly an alias by now. Every write increments the revision, so that
 * new facts are never joined with outdated ones.
 */
export interface StoredPurchase {
  readonly revision: number;
  readonly purchase: Purchase;
  readonly customer: CustomerId;
  /** Time since which an acknowledgement is due; null: none is. */
  readonly acknowledgementDueSince: Instant | null;
  /** Time at which the store is asked about it again; null: none is set. */
  readonly refreshAt: Instant | null;
  /** iOS: the app's bundle; null: not known. */
  readonly bundleIdentifier: string | null;
}

/** A move to another account by a link: the application's policy allows it, or a client's claim gave way. */
export interface Transfer {
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly because: "policy" | "claim-gave-way";
}

export type AuditAction =
  | "apply"
  | "issue"
  | "revoke"
  | "rotate"
  | "resume"
  | "resend"
  | "reproject"
  | "retell"
  | "refresh"
  | "export"
  | "unlink"
  | "move"
  | "erase";

/**
 * An operator's act: who, when, why and what. It contains no account identifier, purchase or secret, so it outlives an
 * erasure.
 */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly moment: Instant;
  /** Name that the operator gave, or the user's. */
  readonly by: string;
  /** ARN of the AWS identity, as STS names it; `local` on a table of this machine; null: STS did not name it. */
  readonly caller: string | null;
  /** Null: the command asks for none. */
  readonly reason: string | null;
  /** Null: the act concerns no single customer. */
  readonly customer: CustomerId | null;
  /** Keyed hashes of the accounts concerned: the one left before the one moved to. */
  readonly accounts: readonly string[];
  /** Lines that say what was changed, or what was begun. */
  readonly what: readonly string[];
}

/** A stored identity other than a purchase. */
export interface StoredIdentity {
  /** Text of the item's key, in the table's form. */
  readonly item: string;
  /** The customer it was stored for, possibly an alias by now. */
  readonly customer: CustomerId;
  /** The customer's version as written in the identity's transaction; 0: unknown. */
  readonly customerVersion: number;
}

/** An acknowledgement in the queue. */
export interface DueAcknowledgement extends PendingAcknowledgement {
  readonly application: ApplicationId;
  readonly dueSince: Instant;
}
