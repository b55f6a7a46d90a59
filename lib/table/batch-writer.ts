import { BatchWriteCommand, type BatchWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import { chunks } from "./chunks.ts";
import type { Key } from "./keys.ts";
import type { Table } from "./table.ts";

type Request = NonNullable<BatchWriteCommandInput["RequestItems"]>[string][number];

/** A put of a whole item, or a deletion. */
export type BatchItem = { readonly put: Key & object } | { readonly delete: Key };

/** DynamoDB's limit for one batch. */
const ITEMS_PER_BATCH = 25;
const BATCH_ATTEMPTS = 12;
const BATCHES_AT_ONCE = 4;

/** Writes items without conditions, each by itself. Those that DynamoDB leaves unprocessed are sent again. */
export type BatchWriter = (items: readonly BatchItem[]) => Promise<void>;

export const createBatchWriter = (
  { client, name }: Table,
  pause: (attempt: number) => Promise<void>,
): BatchWriter => {
  const writeBatch = async (batch: readonly BatchItem[]): Promise<void> => {
    let wanted: Request[] = batch.map((item) =>
      "put" in item
        ? { PutRequest: { Item: { ...item.put } } }
        : { DeleteRequest: { Key: { ...item.delete } } },
    );
    for (let attempt = 1; wanted.length > 0; attempt += 1) {
      if (attempt > BATCH_ATTEMPTS) throw new Error("DynamoDB repeatedly left items of a batch unprocessed.");
      if (attempt > 1) await pause(attempt);
      const { UnprocessedItems } = await client.send(
        new BatchWriteCommand({ RequestItems: { [name]: wanted } }),
      );
      wanted = UnprocessedItems?.[name] ?? [];
    }
  };
  return async (items) => {
    for (const some of chunks(items, ITEMS_PER_BATCH * BATCHES_AT_ONCE))
      await Promise.all(chunks(some, ITEMS_PER_BATCH).map(writeBatch));
  };
};
