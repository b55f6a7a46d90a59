import type { Instant } from "../entitlements/time.ts";
import type { AccountId, CustomerId } from "../identifiers.ts";

/** Write of a customer that may have changed its account. */
export interface LookCause {
  readonly customer: CustomerId;
  /** The customer's version after the write; for an erasure, its last version. */
  readonly version: number;
  /** Customers whose items in the account the write put, changed or deleted. */
  readonly customers: readonly CustomerId[];
  readonly erased: boolean;
}

/** A due look at an account: a comparison of its state with what was last told. */
export interface Look {
  readonly account: AccountId;
  readonly dueAt: Instant;
  /** Null: time alone may have changed it, or an operator asked. */
  readonly cause: LookCause | null;
}
