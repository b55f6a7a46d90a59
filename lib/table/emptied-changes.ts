import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { GetCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { ApplicationId } from "../identifiers.ts";
import type { ChangePlace } from "../telling/change.ts";
import { changeItem } from "./change-items.ts";
import { present } from "./conditions.ts";
import { changeKey } from "./keys.ts";
import { parseItem, type Table } from "./table.ts";
import { updateOf } from "./writes.ts";

/**
 * Takes the data out of an account's changes: the one at the place and all before it, each of which names the one before. May
 * be repeated after it was interrupted.
 *
 * @param keepsFirst whether the one at the place keeps its data
 */
export const emptyChanges = async (
  { client, name }: Table,
  application: ApplicationId,
  last: ChangePlace | null,
  { keepsFirst }: { readonly keepsFirst: boolean },
): Promise<void> => {
  for (let at = last, isFirst = true; at !== null; isFirst = false) {
    const key = changeKey(application, at);
    const { Item: item } = await client.send(
      new GetCommand({ TableName: name, Key: { ...key }, ConsistentRead: true }),
    );
    if (item === undefined) return;
    if (!(isFirst && keepsFirst))
      try {
        const emptied = { data: undefined, isEmptied: true };
        await client.send(new UpdateCommand(updateOf(name, key, emptied, present)));
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      }
    at = parseItem(changeItem, item).previous ?? null;
  }
};
