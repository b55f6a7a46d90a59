import { DIRECTORY_AGE_MILLISECONDS } from "../applications/directory.ts";
import { SECOND } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../identifiers.ts";
import type { Look } from "../telling/look.ts";

/** Place in a scan: a customer of an account, and the items read until then. */
export interface AccountPosition {
  readonly account: AccountId;
  readonly customer: CustomerId;
  readonly scanned: number;
}

export interface AccountPage {
  /** Each account once; one with many customers may come on the next page too. */
  readonly accounts: readonly AccountId[];
  /** Position of the last account; null: there is none. */
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
  /** Items of the table, as DynamoDB counted them in the last six hours; null: it does not say. */
  size(): Promise<number | null>;
}

export interface Retelling {
  readonly accounts: number;
  /** Position to resume from after an interruption; null: before the first account. */
  readonly position: AccountPosition | null;
  /** Part of the table read, from 0 to 1; null: its size is not known. */
  readonly part: number | null;
  /** Time of the last look; null: none yet. */
  readonly until: Instant | null;
}

/** Accounts a second that become due for a look: a teller manages more, which leaves time for new changes. */
const RETOLD_PER_SECOND = 100;

/** Difference of clocks that is allowed for. */
const CLOCKS_DIFFER = 5 * SECOND;

/** Time until every function knows the application's change. */
const KNOWN_EVERYWHERE_MILLISECONDS = DIRECTORY_AGE_MILLISECONDS + CLOCKS_DIFFER;

/**
 * Makes every account of an application due for a look, as its changed catalog may have changed them all. It may be repeated,
 * and several may run at the same time. The looks begin when all functions know the change, and are spread in time.
 *
 * @param after position that an interrupted run has reported; null: from the beginning
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
      part: size === null || size === 0 ? null : Math.min(1, scanned / size),
      until,
    };
    progress(done);
  }
  return done;
};
