import { GetCommand } from "@aws-sdk/lib-dynamodb";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import { accountClaimsItem, type ClaimsCounter } from "./items.ts";
import { keys } from "./keys.ts";
import { parseItem, type Table } from "./table.ts";
import type { TransactItem } from "./writes.ts";

/** Places that a change takes in an account's count of claims, or gives back. */
export interface ClaimsDifference {
  readonly account: AccountId;
  readonly counter: ClaimsCounter;
  readonly by: number;
}

const OTHER: Readonly<Record<ClaimsCounter, ClaimsCounter>> = { production: "other", other: "production" };

/**
 * Accounts whose count comes to zero by these differences, as it is read now: {@link claimsWrite} deletes it, for its key
 * names the account. One read for each account that gives back places.
 */
export const countsThatEnd = async (
  { client, name: TableName }: Table,
  application: ApplicationId,
  differences: readonly ClaimsDifference[],
): Promise<ReadonlySet<AccountId>> => {
  const ending = differences.map(async ({ account, counter, by }): Promise<AccountId[]> => {
    if (by > 0) return [];
    const Key = { ...keys.accountClaims(application, account) };
    const { Item } = await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
    const counts = Item === undefined ? {} : parseItem(accountClaimsItem, Item);
    return (counts[counter] ?? 0) + by <= 0 && (counts[OTHER[counter]] ?? 0) <= 0 ? [account] : [];
  });
  return new Set((await Promise.all(ending)).flat());
};

/**
 * Raises an account's count of claims, below its limit, or lowers it, or deletes it where it comes to zero. Whether it does
 * is a condition: where somebody was faster, it is read anew.
 */
export const claimsWrite = (
  TableName: string,
  application: ApplicationId,
  { account, counter, by }: ClaimsDifference,
  limit: number,
  ends: boolean,
): TransactItem => {
  const Key = { ...keys.accountClaims(application, account) };
  if (by > 0)
    return {
      Update: {
        TableName,
        Key,
        UpdateExpression: "ADD #counter :difference",
        ConditionExpression: "attribute_not_exists(#counter) OR #counter < :limit",
        ExpressionAttributeNames: { "#counter": counter },
        ExpressionAttributeValues: { ":difference": by, ":limit": limit },
      },
    };
  const ExpressionAttributeNames = { "#counter": counter, "#other": OTHER[counter] };
  const given = { ":given": -by, ":none": 0 };
  return ends
    ? {
        Delete: {
          TableName,
          Key,
          ConditionExpression:
            "(attribute_not_exists(#counter) OR #counter <= :given) AND (attribute_not_exists(#other) OR #other <= :none)",
          ExpressionAttributeNames,
          ExpressionAttributeValues: given,
        },
      }
    : {
        Update: {
          TableName,
          Key,
          UpdateExpression: "ADD #counter :difference",
          ConditionExpression: "#counter > :given OR #other > :none",
          ExpressionAttributeNames,
          ExpressionAttributeValues: { ...given, ":difference": by },
        },
      };
};
