import { ConditionalCheckFailedException, TransactionConflictException } from "@aws-sdk/client-dynamodb";
import { DeleteCommand } from "@aws-sdk/lib-dynamodb";
import type { AccountId, ApplicationId } from "../identifiers.ts";
import type { ClaimsCounter } from "./items.ts";
import { keys } from "./keys.ts";
import type { Table } from "./table.ts";
import type { TransactItem } from "./writes.ts";

/** Raises the count of an account's claims, below its limit, or lowers it. */
export const claimsWrite = (
  table: string,
  application: ApplicationId,
  account: AccountId,
  counter: ClaimsCounter,
  difference: number,
  limit: number,
): TransactItem => ({
  Update: {
    TableName: table,
    Key: { ...keys.accountClaims(application, account) },
    UpdateExpression: "ADD #counter :difference",
    ExpressionAttributeNames: { "#counter": counter },
    ExpressionAttributeValues: { ":difference": difference, ...(difference > 0 && { ":limit": limit }) },
    ...(difference > 0 && {
      ConditionExpression: "attribute_not_exists(#counter) OR #counter < :limit",
    }),
  },
});

const isNone = (counter: ClaimsCounter): string =>
  `(attribute_not_exists(#${counter}) OR #${counter} <= :none)`;

/**
 * Deletes the count of an account that no client claims any more: its key names the account, which may be a person's name.
 * A count that is not zero stays, and so does one that a transaction is about to change.
 */
export const deleteZeroClaims = async (
  { client, name: TableName }: Table,
  application: ApplicationId,
  account: AccountId,
): Promise<void> => {
  try {
    await client.send(
      new DeleteCommand({
        TableName,
        Key: { ...keys.accountClaims(application, account) },
        ConditionExpression: `${isNone("production")} AND ${isNone("other")}`,
        ExpressionAttributeNames: { "#production": "production", "#other": "other" },
        ExpressionAttributeValues: { ":none": 0 },
      }),
    );
  } catch (error) {
    const stays =
      error instanceof ConditionalCheckFailedException || error instanceof TransactionConflictException;
    if (!stays) throw error;
  }
};
