import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { QueryCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { acknowledgementItem } from "./items.ts";
import { ACKNOWLEDGEMENT_SHARDS, acknowledgementKey, acknowledgementPartition, keys } from "./keys.ts";
import type { DueAcknowledgement } from "./records.ts";
import { parseItem, type Table } from "./table.ts";

/** The queue of acknowledgements that are due. They enter it in the transaction that stores their purchase. */
export interface AcknowledgementQueue {
  /** The ones that wait longest, at most so many of each shard, the oldest first. */
  oldest(limitOfShard: number): Promise<readonly DueAcknowledgement[]>;
  /** Takes one out of the queue: it is acknowledged, or will never be. */
  remove(
    due: Pick<DueAcknowledgement, "application" | "dueSince"> & { readonly purchase: PurchaseReference },
  ): Promise<void>;
}

const toDue = (item: Record<string, unknown>): DueAcknowledgement => {
  const { store, environment, key, ...acknowledgement } = parseItem(acknowledgementItem, item);
  return { ...acknowledgement, purchase: { store, environment, key } };
};

export const createAcknowledgementQueue = ({ client, name: TableName }: Table): AcknowledgementQueue => {
  const oldestOfShard = async (shard: number, limit: number): Promise<DueAcknowledgement[]> => {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": acknowledgementPartition(shard) },
        Limit: limit,
        ConsistentRead: true,
      }),
    );
    return Items.map(toDue);
  };

  const deletion = (application: ApplicationId, purchase: PurchaseReference, dueSince: Instant) => ({
    Delete: { TableName, Key: { ...acknowledgementKey(application, purchase, dueSince) } },
  });

  return {
    oldest: async (limitOfShard) => {
      const shards = Array.from({ length: ACKNOWLEDGEMENT_SHARDS }, (_, shard) =>
        oldestOfShard(shard, limitOfShard),
      );
      return (await Promise.all(shards)).flat().sort((a, b) => a.dueSince - b.dueSince);
    },

    remove: async ({ application, purchase, dueSince }) => {
      const noMoreDue = {
        Update: {
          TableName,
          Key: { ...keys.purchase(application, purchase) },
          UpdateExpression: "REMOVE acknowledgementDueSince ADD revision :one",
          ConditionExpression: "acknowledgementDueSince = :since",
          ExpressionAttributeValues: { ":one": 1, ":since": dueSince },
        },
      };
      const taken = deletion(application, purchase, dueSince);
      try {
        await client.send(new TransactWriteCommand({ TransactItems: [noMoreDue, taken] }));
      } catch (error) {
        const reasons = error instanceof TransactionCanceledException ? error.CancellationReasons : undefined;
        if (reasons?.[0]?.Code !== "ConditionalCheckFailed") throw error;
        // The purchase is gone, or somebody else was told so first: nothing waits for this one any more.
        await client.send(new TransactWriteCommand({ TransactItems: [taken] }));
      }
    },
  };
};
