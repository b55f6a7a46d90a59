import type { CustomerChange } from "../../customers/storing/customer-change.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";

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
