import type { Application } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { UngrantedProduct } from "../entitlements/ungranted.ts";
import type { CustomerId } from "../identifiers.ts";
import type { Bury } from "./bury-remains.ts";
import type { WriteCustomerChange } from "./customer-change.ts";
import type { CustomerTable, FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { StoredCustomer } from "./records.ts";
import type { Claim } from "./resolve-customer.ts";
import type { VerifiedFacts } from "./verified-facts.ts";

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

/** Verified facts to store for an application, and the account that their request claims. */
export interface FactContext {
  readonly store: FactStore;
  readonly application: Application;
  readonly facts: VerifiedFacts;
  readonly claim: Claim | null;
}

/** The same, with what is stored about the facts at a moment. */
export interface StateContext extends FactContext {
  readonly moment: Instant;
  readonly known: KnownFacts;
  /** Customers that the facts name, by identifier. */
  readonly living: FoundCustomers["living"];
  /** Each of them once. */
  readonly owners: readonly StoredCustomer[];
}
