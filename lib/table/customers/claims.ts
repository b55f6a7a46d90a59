import * as z from "zod/mini";
import type { Environment } from "../../contract/schemas.ts";
import type { CustomerChange } from "../../customers/storing/fact-store.ts";
import type { Link, StoredCustomer } from "../../customers/storing/records.ts";
import type { AccountId, ApplicationId } from "../../identifiers.ts";
import { countsEnd, countsRemain, hasRoom } from "../dynamodb/conditions.ts";
import { readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Table } from "../dynamodb/table.ts";
import { deletion, update, type Write } from "../dynamodb/writes.ts";
import { keys } from "../keys.ts";

/** Customers linked to an account by clients' claims alone, by {@link claimsCounter}; absent: none. */
export const accountClaimsItem = () =>
  z.object({ production: shape.optional(shape.integer(), 0), other: shape.optional(shape.integer(), 0) });
export type ClaimsCounter = "production" | "other";

/** Test purchases are free, so they must not use up the places of paid ones. */
export const claimsCounter = (environment: Environment): ClaimsCounter =>
  environment === "production" ? "production" : "other";

/** Places that a change takes in an account's claims counter; negative: it gives them back. */
interface ClaimsDifference {
  readonly account: AccountId;
  readonly counter: ClaimsCounter;
  readonly by: number;
}

/** The claims counter that a customer's link counts in; null without a link, or for a credential's. */
const claimOf = (customer: { link: Link | null; environment: StoredCustomer["environment"] } | null) =>
  customer?.link?.assertedBy === "client"
    ? { account: customer.link.account, counter: claimsCounter(customer.environment) }
    : null;

/** Places that a change takes and gives back. */
export const claimsDifferences = ({
  before,
  absorbed,
  after,
}: Pick<CustomerChange, "before" | "absorbed" | "after">): readonly ClaimsDifference[] => {
  const differences = new Map<string, ClaimsDifference>();
  const count = (claim: ReturnType<typeof claimOf>, by: number): void => {
    if (claim === null) return;
    const name = JSON.stringify([claim.account, claim.counter]);
    differences.set(name, { ...claim, by: (differences.get(name)?.by ?? 0) + by });
  };
  for (const customer of [before, ...absorbed]) count(claimOf(customer), -1);
  count(claimOf(after), 1);
  return [...differences.values()].filter(({ by }) => by !== 0);
};

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
    const counts = await readItem(table, keys.accountClaims(application, account), accountClaimsItem);
    return (counts?.[counter] ?? 0) + by <= 0 && (counts?.[OTHER[counter]] ?? 0) <= 0 ? [account] : [];
  });
  return new Set((await Promise.all(ending)).flat());
};

/**
 * Raises an account's claims counter below its limit, lowers it, or deletes the item if it ends, which a condition proves.
 *
 * @param limit most customers that clients' claims alone may link to the account
 * @param ending accounts of {@link countsThatEnd}
 */
export const claimsWrite = (
  application: ApplicationId,
  { account, counter, by }: ClaimsDifference,
  limit: number,
  ending: ReadonlySet<AccountId>,
): Write => {
  const key = keys.accountClaims(application, account);
  const other = OTHER[counter];
  if (by < 0 && ending.has(account)) return deletion(key, countsEnd(counter, other, -by));
  const condition = by > 0 ? hasRoom(counter, limit) : countsRemain(counter, other, -by);
  return update(key, {}, condition, { add: { [counter]: by } });
};
