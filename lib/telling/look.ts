import type { Instant } from "../entitlements/time.ts";
import type { AccountId, CustomerId } from "../identifiers.ts";

/** Write of a customer that may have changed its account. */
export interface LookCause {
  readonly customer: CustomerId;
  /** The customer's version with the write; an erasure's is that of the erased customer. */
  readonly version: number;
  /** Customers whose items of the account the write put, changed or deleted. */
  readonly customers: readonly CustomerId[];
  readonly erased: boolean;
}

/** A due look at an account, to see whether it differs from what was told. */
export interface Look {
  readonly account: AccountId;
  readonly dueAt: Instant;
  /** Null: time alone may have changed it, or an operator asked. */
  readonly cause: LookCause | null;
}
