import type { AssertedBy, Environment } from "../../contract/schemas.ts";
import type { NextAsk } from "../../entitlements/next-ask.ts";
import type { Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";

export interface Acknowledgement {
  readonly dueSince: Instant;
  /** Time after which Google refunds the purchase. */
  readonly deadline: Instant;
}

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
