import { tellsChanges, type Application } from "../../applications/application.ts";
import { DIRECTORY_AGE_MILLISECONDS } from "../../applications/directory.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { SECOND } from "../../duration.ts";
import { holdingsOf, sameHoldings } from "../../entitlements/holdings.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { Look } from "../../telling/change-table.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";
import { operatorChange, type CustomerPage, type OperationTable } from "./operation-table.ts";
import { withCustomer, type Operations } from "./operations.ts";

/** Where an interrupted scan goes on; null: at the beginning. */
export interface Scan {
  readonly after: CustomerId | null;
}

/** Processes the customers of an application after one, and tells after each page how far it is. */
const scan = async <Counts>(
  table: Pick<OperationTable, "customerPages">,
  application: ApplicationId,
  after: CustomerId | null,
  begun: Counts,
  act: (page: CustomerPage, before: Counts) => Promise<Counts>,
  progress: (done: Counts & Scan) => void,
): Promise<Counts> => {
  let done: Counts & Scan = { ...begun, after };
  for await (const page of table.customerPages(application, after)) {
    done = { ...(await act(page, done)), after: page.customers.at(-1) ?? done.after };
    progress(done);
  }
  return done;
};

const reprojectCustomer = async (
  operations: Operations,
  described: Application,
  customer: CustomerId,
): Promise<"changed" | "unchanged" | null> => {
  const { findOwnership, write, now } = operations;
  const { identifier: application, catalog } = described;
  const project = async (stored: StoredCustomer) => {
    const { purchases } = await findOwnership(application, stored.identifier);
    // The index may not list the newest purchases yet; the holdings have them.
    const known = [...stored.holdings, ...purchases.map(({ purchase }) => purchase)];
    const holdings = holdingsOf(known, catalog);
    if (sameHoldings(stored.holdings, holdings)) return "unchanged";
    const change = operatorChange(application, stored, { holdings }, now(), tellsChanges(described));
    const written = await write(change);
    return written === "conflict" ? written : "changed";
  };
  return withCustomer(operations, application, customer, project, () => null);
};

interface Reprojected {
  readonly customers: number;
  readonly changed: number;
}

/**
 * Recomputes the holdings of all customers of an application from their purchases: needed when a changed catalog maps
 * purchases that were not held. Safe to repeat and to run concurrently.
 */
export const reprojectApplication = async (
  operations: Operations,
  application: Application,
  after: CustomerId | null,
  progress: (done: Reprojected & Scan) => void,
): Promise<Reprojected> => {
  const reproject = async ({ customers }: CustomerPage, before: Reprojected): Promise<Reprojected> => {
    let { changed } = before;
    await sideBySide(customers, AT_ONCE, async (customer) => {
      if ((await reprojectCustomer(operations, application, customer)) === "changed") changed += 1;
    });
    return { customers: before.customers + customers.length, changed };
  };
  const begun = { customers: 0, changed: 0 };
  return scan(operations.table, application.identifier, after, begun, reproject, progress);
};

export interface RetellTable extends Pick<OperationTable, "customerPages"> {
  makeDue(application: ApplicationId, looks: readonly Look[]): Promise<void>;
}

interface Retold {
  readonly accounts: number;
  /** Due time of the last look; null: none yet. */
  readonly until: Instant | null;
}

/** Accounts made due per second: fewer than a teller handles, which leaves time for new changes. */
const RETOLD_PER_SECOND = 100;

const CLOCKS_DIFFER = 5 * SECOND;

/** Time until every function knows the application's change. */
const KNOWN_EVERYWHERE_MILLISECONDS = DIRECTORY_AGE_MILLISECONDS + CLOCKS_DIFFER;

/**
 * Makes every account of an application due for a look, because a changed catalog may affect all of them. Safe to
 * repeat and to run concurrently. The looks start once all functions know the change, and are spread over time.
 */
export const retellApplication = async (
  table: RetellTable,
  application: ApplicationId,
  after: CustomerId | null,
  now: () => Instant,
  progress: (done: Retold & Scan) => void,
): Promise<Retold> => {
  const queued = new Set<AccountId>();
  const queue = async ({ accounts }: CustomerPage, before: Retold): Promise<Retold> => {
    const looks: Look[] = [];
    let { until } = before;
    for (const account of accounts) {
      if (queued.has(account)) continue;
      queued.add(account);
      const earliest = now() + KNOWN_EVERYWHERE_MILLISECONDS;
      until = until === null ? earliest : Math.max(earliest, until + SECOND / RETOLD_PER_SECOND);
      looks.push({ account, dueAt: until, cause: null });
    }
    await table.makeDue(application, looks);
    return { accounts: queued.size, until };
  };
  return scan(table, application, after, { accounts: 0, until: null }, queue, progress);
};
