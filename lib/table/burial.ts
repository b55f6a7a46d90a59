import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { chunks } from "./chunks.ts";
import { acknowledgementKey, customerPartition, keys, TABLE, type Key } from "./keys.ts";
import type { Ownership } from "./ownership.ts";
import { absent, type Table } from "./table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./transactions.ts";
import { deletion, type TransactItem } from "./writes.ts";

/** Lifetime of the tombstones that refuse an erased customer's identities and purchases. */
export const ERASURE_BLOCKS_MILLISECONDS = 30 * 24 * 3600 * 1000;

/** Purchases and identities of a customer that is gone. */
export type Remains = Pick<Ownership, "purchases" | "identities">;

const SECOND = 1000;

/** The items of one purchase or identity: its tombstone, and the deletion of the acknowledgement that it waits for. */
const ITEMS_OF_ONE = 2;

/**
 * Replaces what a customer that is gone has left by tombstones that expire. Each is replaced where its owner is still the
 * one that was read, for a person who has signed up again meanwhile keeps the purchases that a credential has linked.
 *
 * `conflict`: some have another owner by now, or the customer is there; the others are buried. Idempotent.
 *
 * @param end the customer that is gone, at the end of the aliases that what it left may be stored for
 */
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
    ...identities.map(({ key, customer }) => [tombstone(key, customer)]),
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
