import type { ApplicationDirectory } from "../applications/application.ts";
import type { AccountEntitlements } from "../contract/schemas.ts";
import { catalogOf } from "../entitlements/catalog.ts";
import { entitlementsAt } from "../entitlements/entitlements.ts";
import type { Instant } from "../entitlements/time.ts";
import type { Terms } from "../entitlements/timeline.ts";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import { accountHoldings } from "./storing/records.ts";
import type { CustomerTable } from "./storing/fact-store.ts";

export interface AccountReading {
  readonly directory: ApplicationDirectory;
  readonly table: Pick<CustomerTable, "findAccount">;
  readonly now: () => Instant;
}

const NOTHING_SOLD: Terms = { catalog: catalogOf(new Map(), []), renewalLeeway: 0 };

/** Entitlements of all customers linked to an account: one Query. None of an unknown account or application. */
export const readAccountEntitlements = async (
  { directory, table, now }: AccountReading,
  application: ApplicationId,
  account: AccountId,
): Promise<AccountEntitlements> => {
  const [described, customers] = await Promise.all([
    directory.byIdentifier(application),
    table.findAccount(application, account),
  ]);
  return {
    applicationAccountIdentifier: account,
    customerIdentifiers: customers.map(({ customer }) => customer),
    applicationIdentifier: application,
    entitlements: entitlementsAt(now(), accountHoldings(customers), described ?? NOTHING_SOLD),
  };
};
