import type { IdentityReference, Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";
import type { AskSource } from "../asking/ask.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";

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
  /** Claims of its account below which the change may add one; unset: `CLAIMS_PER_ACCOUNT`. */
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
