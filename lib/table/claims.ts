import { countsEnd, countsRemain, hasRoom } from "./conditions.ts";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import { accountClaimsItem, type ClaimsCounter } from "./items.ts";
import { keys } from "./keys.ts";
import { parseItem, readItem, type Table } from "./table.ts";
import { add, deletion, type TransactItem } from "./writes.ts";

/** Places that a change takes in an account's claims counter; negative: it gives them back. */
export interface ClaimsDifference {
  readonly account: AccountId;
  readonly counter: ClaimsCounter;
  readonly by: number;
}

const OTHER: Readonly<Record<ClaimsCounter, ClaimsCounter>> = { production: "other", other: "production" };

/**
 * Accounts whose claims reach zero with these differences, as read now. {@link claimsWrite} deletes their item, because
 * its key contains the account. One read per account that gives back places.
 */
export const countsThatEnd = async (
  table: Table,
  application: ApplicationId,
  differences: readonly ClaimsDifference[],
): Promise<ReadonlySet<AccountId>> => {
  const ending = differences.map(async ({ account, counter, by }): Promise<AccountId[]> => {
    if (by > 0) return [];
    const item = await readItem(table, keys.accountClaims(application, account));
    const counts = item === undefined ? {} : parseItem(accountClaimsItem, item);
    return (counts[counter] ?? 0) + by <= 0 && (counts[OTHER[counter]] ?? 0) <= 0 ? [account] : [];
  });
  return new Set((await Promise.all(ending)).flat());
};

export interface ClaimsBounds {
  /** Most customers that clients' claims alone may link to the account. */
  readonly limit: number;
  /** Whether {@link countsThatEnd} has the account. */
  readonly ends: boolean;
}

/**
 * Raises an account's claims counter below its limit, lowers it, or deletes the item if it ends. A condition proves that it
 * ends; a concurrent write makes it a conflict.
 */
export const claimsWrite = (
  TableName: string,
  application: ApplicationId,
  { account, counter, by }: ClaimsDifference,
  { limit, ends }: ClaimsBounds,
): TransactItem => {
  const key = keys.accountClaims(application, account);
  const other = OTHER[counter];
  if (by > 0) return add(TableName, key, { [counter]: by }, hasRoom(counter, limit));
  return ends
    ? deletion(TableName, key, countsEnd(counter, other, -by))
    : add(TableName, key, { [counter]: by }, countsRemain(counter, other, -by));
};
