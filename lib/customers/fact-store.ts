import type { Instant } from "../entitlements/time.ts";
import type { CustomerId } from "../identifiers.ts";
import type { Bury } from "./bury-remains.ts";
import type { CustomerChange } from "./customer-change.ts";
import type { CustomerTable } from "./customer-table.ts";

/** Dependencies of storing facts. */
export interface FactStore {
  readonly table: CustomerTable;
  readonly write: (change: CustomerChange) => Promise<"written" | "conflict">;
  readonly bury: Bury;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before an attempt, longer and more at random the later it is. */
  readonly pause: (attempt: number) => Promise<void>;
  readonly now: () => Instant;
  /** Customers that an account may have by clients' claims alone, of production, and of all other environments together. */
  readonly claimsPerAccount: number;
}
