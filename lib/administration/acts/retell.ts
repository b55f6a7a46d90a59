import { DIRECTORY_AGE_MILLISECONDS } from "../../applications/directory.ts";
import { SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import type { Look } from "../../telling/look.ts";
import { scannedPart, type Scan } from "./operation-table.ts";

export interface AccountPosition {
  readonly account: AccountId;
  readonly customer: CustomerId;
  readonly scanned: number;
}

export interface AccountPage {
  /** Each account once; one with many customers may reappear on the next page. */
  readonly accounts: readonly AccountId[];
  readonly position: AccountPosition | null;
  readonly scanned: number;
}

export interface RetellTable {
  /**
   * Accounts of an application that have a customer, after a position; null: from the beginning. Scans the whole table: use it
   * rarely.
   */
  accountPages(application: ApplicationId, after: AccountPosition | null): AsyncIterable<AccountPage>;
  makeDue(application: ApplicationId, looks: readonly Look[]): Promise<void>;
  /** Item count of the table, which DynamoDB updates every six hours; null: unknown. */
  size(): Promise<number | null>;
}

export interface Retelling extends Scan<AccountPosition> {
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
  after: AccountPosition | null,
  now: () => Instant,
  progress: (done: Retelling) => void,
): Promise<Retelling> => {
  const size = await table.size();
  let done: Retelling = { accounts: 0, position: after, part: null, until: null };
  for await (const { accounts, position, scanned } of table.accountPages(application, after)) {
    const looks: Look[] = [];
    let { until } = done;
    for (const account of accounts) {
      const earliest = now() + KNOWN_EVERYWHERE_MILLISECONDS;
      until = until === null ? earliest : Math.max(earliest, until + SECOND / RETOLD_PER_SECOND);
      looks.push({ account, dueAt: until, cause: null });
    }
    await table.makeDue(application, looks);
    done = {
      accounts: done.accounts + accounts.length,
      position: position ?? done.position,
      part: scannedPart(scanned, size),
      until,
    };
    progress(done);
  }
  return done;
};
