import type { Instant } from "../entitlements/time.ts";
import type { UngrantedProduct } from "../entitlements/ungranted.ts";
import type { CustomerId } from "../identifiers.ts";
import type { Bury } from "./bury-remains.ts";
import type { WriteCustomerChange } from "./customer-change.ts";
import type { CustomerTable } from "./customer-table.ts";

/**
 * Limit of customers that clients' claims alone may link to an account: in production, and in all other environments
 * together.
 */
export const CLAIMS_PER_ACCOUNT = 20;

/** Ports and limits for storing verified facts. */
export interface FactStore {
  readonly table: CustomerTable;
  readonly write: WriteCustomerChange;
  readonly bury: Bury;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before a retry: longer with each attempt, with jitter. */
  readonly pause: (attempt: number) => Promise<void>;
  readonly now: () => Instant;
  /** The limit of `write`; unset: {@link CLAIMS_PER_ACCOUNT}. */
  readonly claimsPerAccount?: number;
  /** Receives the products of verified purchases that grant nothing; unset: they are not reported. */
  readonly onUngranted?: (products: readonly UngrantedProduct[]) => void;
}

/**
 * Optimistic-lock attempts before `TOO_MANY_REQUESTS`. With ten requests of one person always in flight, two of 18,000
 * needed more than 20. The pauses between 30 attempts add up to 7 seconds on average, 15 at most.
 */
export const ATTEMPTS = 30;
