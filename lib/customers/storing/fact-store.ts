import type { Pause } from "../../pause.ts";
import type { Application } from "../../applications/application.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { UngrantedProduct } from "../../entitlements/catalog.ts";
import type { CustomerId } from "../../identifiers.ts";
import type { Bury } from "./bury-remains.ts";
import type { WriteCustomerChange } from "./customer-change.ts";
import type { CustomerTable, FoundCustomers, KnownFacts } from "./customer-table.ts";
import type { VerifiedFacts } from "./verified-facts.ts";
import type { StoredCustomer } from "./records.ts";
import type { Claim } from "./resolve-customer.ts";

/** Production customers that clients' claims may link to an account; as many again of sandbox and Xcode together. */
export const CLAIMS_PER_ACCOUNT = 20;

/** Claims up to which one without an app transaction id is made: a person has as many of those as purchases. */
export const CLAIMS_WITHOUT_IDENTITY = 3;

export interface FactStore {
  readonly table: CustomerTable;
  readonly write: WriteCustomerChange;
  readonly bury: Bury;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before a retry: longer with each attempt, with jitter. */
  readonly pause: Pause;
  readonly now: () => Instant;
  /** Unset: {@link CLAIMS_PER_ACCOUNT}. */
  readonly claimsPerAccount?: number;
  /** Receives the products of verified purchases that grant nothing; unset: they are not reported. */
  readonly onUngranted?: (products: readonly UngrantedProduct[]) => void;
}

/** Claims of its account below which a claim with these facts is made. Xcode's ids name nobody. */
export const claimsLimit = (
  { claimsPerAccount = CLAIMS_PER_ACCOUNT }: Pick<FactStore, "claimsPerAccount">,
  { identities, environment }: Pick<VerifiedFacts, "identities" | "environment">,
): number =>
  identities.length > 0 || environment === "xcode"
    ? claimsPerAccount
    : Math.min(CLAIMS_WITHOUT_IDENTITY, claimsPerAccount);

export interface FactContext {
  readonly store: FactStore;
  readonly application: Application;
  readonly facts: VerifiedFacts;
  readonly claim: Claim | null;
}

export interface StateContext extends FactContext {
  readonly moment: Instant;
  readonly known: KnownFacts;
  readonly living: FoundCustomers["living"];
  readonly owners: readonly StoredCustomer[];
}
