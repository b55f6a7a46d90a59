import type { CustomerChange } from "../../customers/storing/fact-store.ts";
import type {
  Link,
  StoredCustomer,
  StoredIdentity,
  StoredPurchase,
  Transfer,
} from "../../customers/storing/records.ts";
import type { IdentityReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { Audited } from "./audit.ts";

/** Reads and writes of the operator alone; no function may send the writes. */
export interface OperationTable {
  /** Unlinks a customer, or moves it to `link`. Passing its current link completes an interrupted move. */
  relink(
    application: ApplicationId,
    customer: StoredCustomer,
    link: Link | null,
    audit: Audited,
  ): Promise<"written" | "conflict">;
  /** Deletes a customer: requests that name it are refused. `bury` then replaces what it owned. */
  end(application: ApplicationId, customer: StoredCustomer, audit: Audited): Promise<"written" | "conflict">;
  forget(application: ApplicationId, aliases: readonly CustomerId[]): Promise<void>;
  transfersOf(application: ApplicationId): Promise<readonly Transfer[]>;
  /** Customers of an application after one, without aliases, in pages; null: all. Scans the whole table: use it rarely. */
  customerPages(application: ApplicationId, after: CustomerId | null): AsyncIterable<CustomerPage>;
}

export interface CustomerPage {
  readonly customers: readonly CustomerId[];
  readonly accounts: readonly AccountId[];
}

export interface Ownership {
  readonly purchases: readonly StoredPurchase[];
  readonly aliases: readonly StoredCustomer[];
  readonly identities: readonly OwnedIdentity[];
}

interface OwnedIdentity extends Pick<StoredIdentity, "item" | "customer"> {
  /** The identity that the item's key names; null: this version does not know its kind. */
  readonly identity:
    (Record<"store" | "environment" | "value", string> & Pick<IdentityReference, "kind">) | null;
}

/** Finds all that a customer owns, through an index that may lag. */
export type FindOwnership = (application: ApplicationId, customer: CustomerId) => Promise<Ownership>;

/** An operator's change of one customer's link or holdings, never of what it owns. */
export const operatorChange = (
  application: ApplicationId,
  before: StoredCustomer,
  difference: Partial<Pick<StoredCustomer, "link" | "holdings">>,
  moment: Instant,
  tellsChanges: boolean,
): CustomerChange => ({
  application,
  before,
  after: { ...before, ...difference },
  holdingsWith: () => difference.holdings ?? before.holdings,
  absorbed: [],
  identities: [],
  purchases: [],
  liftsErasures: false,
  tellsChanges,
  moment,
});
