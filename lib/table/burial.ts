import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { chunks } from "./chunks.ts";
import { acknowledgementKey, customerPartition, keyOf, keys, TABLE, type Key } from "./keys.ts";
import type { Remains } from "../customers/bury-remains.ts";
import { absent, type Table } from "./table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./transactions.ts";
import { deletion, type TransactItem } from "./writes.ts";

const SECOND = 1000;

/** The items of one purchase or identity: its tombstone, and the deletion of the acknowledgement that it waits for. */
const ITEMS_OF_ONE = 2;

/** Fills {@link Bury}. */
export const bury = async (
  { client, name: TableName }: Table,
  application: ApplicationId,
  end: CustomerId,
  { purchases, identities }: Remains,
  erasedUntil: Instant,
): Promise<"written" | "conflict"> => {
  const isGone: TransactItem = {
    ConditionCheck: { TableName, Key: { ...keys.customer(application, end) }, ConditionExpression: absent },
  };
  const tombstone = (key: Key, owner: CustomerId): TransactItem => ({
    Put: {
      TableName,
      Item: { ...key, erasedUntil, [TABLE.timeToLiveAttribute]: Math.ceil(erasedUntil / SECOND) },
      ConditionExpression: "#owner = :owner",
      ExpressionAttributeNames: { "#owner": TABLE.ownerAttribute },
      ExpressionAttributeValues: { ":owner": customerPartition(application, owner) },
    },
  });
  const graves = [
    ...purchases.map(({ purchase, customer, acknowledgementDueSince }) => [
      tombstone(keys.purchase(application, purchase), customer),
      ...(acknowledgementDueSince === null
        ? []
        : [deletion(TableName, acknowledgementKey(application, purchase, acknowledgementDueSince))]),
    ]),
    ...identities.map(({ item, customer }) => [tombstone(keyOf(item), customer)]),
  ];
  let outcome: "written" | "conflict" = "written";
  for (const some of chunks(graves, Math.floor((ITEMS_PER_TRANSACTION - 1) / ITEMS_OF_ONE)))
    try {
      await client.send(new TransactWriteCommand({ TransactItems: [isGone, ...some.flat()] }));
    } catch (error) {
      if (!isConflict(error)) throw error;
      outcome = "conflict";
    }
  return outcome;
};
