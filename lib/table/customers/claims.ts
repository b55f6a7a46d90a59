import * as z from "zod/mini";
import type { Environment } from "../../contract/schemas.ts";
import type { CustomerChange } from "../../customers/storing/fact-store.ts";
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

type ClaimsCounter = "production" | "other";

/** Test purchases are free, so they must not use up the places of paid ones. */
export const claimsCounter = (environment: Environment): ClaimsCounter =>
  environment === "production" ? "production" : "other";

interface ClaimsDifference {
  readonly account: AccountId;
  readonly counter: ClaimsCounter;
  /** Places taken; negative: given back. */
  readonly by: number;
}

/** Places that a change takes and gives back. Only links that clients claimed take one. */
export const claimsDifferences = ({
  before,
  absorbed,
  after,
}: Pick<CustomerChange, "before" | "absorbed" | "after">): readonly ClaimsDifference[] => {
  const claims = [
    ...[before, ...absorbed].map((customer) => ({ customer, by: -1 })),
    { customer: after, by: 1 },
  ].flatMap(({ customer, by }) =>
    customer?.link?.assertedBy === "client"
      ? [{ account: customer.link.account, counter: claimsCounter(customer.environment), by }]
      : [],
  );
  const byCounter = Map.groupBy(claims, ({ account, counter }) => JSON.stringify([account, counter]));
  return [...byCounter.values()]
    .flatMap(([first, ...others]) =>
      first === undefined ? [] : { ...first, by: others.reduce((sum, { by }) => sum + by, first.by) },
    )
    .filter(({ by }) => by !== 0);
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
