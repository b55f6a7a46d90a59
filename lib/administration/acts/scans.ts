import {
  type Application,
  DIRECTORY_AGE_MILLISECONDS,
  tellsChanges,
} from "../../applications/application.ts";
import { SECOND } from "../../duration.ts";
import { holdingsOf, sameHoldings } from "../../entitlements/holdings.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { Look } from "../../telling/change.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";
import { type Operations, type OperationTable, operatorChange, withCustomer } from "./operations.ts";

export interface Scan {
  /** Where an interrupted scan goes on; null: at the beginning. */
  readonly after: CustomerId | null;
}

const reprojectCustomer = async (
  operations: Operations,
  described: Application,
  customer: CustomerId,
): Promise<"changed" | "unchanged" | null> => {
  const { findOwnership, write, now } = operations;
  const { identifier: application, catalog } = described;
  return withCustomer(operations, application, customer, async (stored) => {
    if (stored === null) return null;
    const { purchases } = await findOwnership(application, stored.identifier);
    // The index may not list the newest purchases yet; the holdings have them.
    const known = [...stored.holdings, ...purchases.map(({ purchase }) => purchase)];
    const holdings = holdingsOf(known, catalog);
    if (sameHoldings(stored.holdings, holdings)) return "unchanged";
    const change = operatorChange(application, stored, { holdings }, now(), tellsChanges(described));
    const written = await write(change);
    return written === "conflict" ? written : "changed";
  });
};

/** Recomputes all customers' holdings, once a catalog maps purchases that were not held. Safe to repeat. */
export const reprojectApplication = async (
  operations: Operations,
  application: Application,
  { after }: Scan,
  progress: (done: Scan & { readonly customers: number; readonly changed: number }) => void,
) => {
  const done = { customers: 0, changed: 0, after };
  for await (const { customers } of operations.table.customerPages(application.identifier, after)) {
    await sideBySide(customers, AT_ONCE, async (customer) => {
      if ((await reprojectCustomer(operations, application, customer)) === "changed") done.changed += 1;
    });
    done.customers += customers.length;
    done.after = customers.at(-1) ?? done.after;
    progress(done);
  }
  return done;
};

export interface RetellTable extends Pick<OperationTable, "customerPages"> {
  makeDue(application: ApplicationId, looks: readonly Look[]): Promise<void>;
}

/** Accounts made due per second: fewer than a teller handles, which leaves time for new changes. */
const RETOLD_PER_SECOND = 100;

/** Time until every function knows the application's change; clocks differ by five seconds at most. */
const KNOWN_EVERYWHERE_MILLISECONDS = DIRECTORY_AGE_MILLISECONDS + 5 * SECOND;

/**
 * Makes every account due for a look once all functions know a change that may affect all, and spread over time. Safe to
 * repeat. `until`: due time of the last look; null: there is no account.
 */
export const retellApplication = async (
  table: RetellTable,
  application: ApplicationId,
  { after }: Scan,
  now: () => Instant,
  progress: (done: Scan & { readonly accounts: number }) => void,
) => {
  const queued = new Set<AccountId>();
  let [position, until]: [CustomerId | null, Instant | null] = [after, null];
  for await (const { customers, accounts } of table.customerPages(application, after)) {
    const looks: Look[] = [];
    for (const account of accounts) {
      if (queued.has(account)) continue;
      queued.add(account);
      const earliest = now() + KNOWN_EVERYWHERE_MILLISECONDS;
      until = until === null ? earliest : Math.max(earliest, until + SECOND / RETOLD_PER_SECOND);
      looks.push({ account, dueAt: until, cause: null });
    }
    await table.makeDue(application, looks);
    position = customers.at(-1) ?? position;
    progress({ accounts: queued.size, after: position });
  }
  return { accounts: queued.size, until };
};
