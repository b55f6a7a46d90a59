import type { AcknowledgementQueue } from "../customers/acknowledgement-queue.ts";
import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { paginateQuery, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { acknowledgementItem } from "./items.ts";
import { acknowledgementKey, acknowledgementPartition, keys, ACKNOWLEDGEMENT_SHARDS } from "./keys.ts";
import type { DueAcknowledgement } from "../customers/records.ts";
import { knownItems, type Table } from "./table.ts";

const PAGE = 50;

const toDue = ({
  store,
  environment,
  key,
  ...acknowledgement
}: z.output<ReturnType<typeof acknowledgementItem>>): DueAcknowledgement => ({
  ...acknowledgement,
  purchase: { store, environment, key },
});

export const createAcknowledgementQueue = ({ client, name: TableName }: Table): AcknowledgementQueue => {
  const deletion = (application: ApplicationId, purchase: PurchaseReference, dueSince: Instant) => ({
    Delete: { TableName, Key: { ...acknowledgementKey(application, purchase, dueSince) } },
  });

  return {
    shards: ACKNOWLEDGEMENT_SHARDS,

    waiting: async function* (shard) {
      const pages = paginateQuery(
        { client, pageSize: PAGE },
        {
          TableName,
          KeyConditionExpression: "pk = :pk",
          ExpressionAttributeValues: { ":pk": acknowledgementPartition(shard) },
          ConsistentRead: true,
        },
      );
      for await (const page of pages) yield knownItems(acknowledgementItem, page.Items).map(toDue);
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
