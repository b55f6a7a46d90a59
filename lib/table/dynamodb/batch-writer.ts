import { BatchWriteCommand, type BatchWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import { chunks } from "../../chunks.ts";
import type { Key } from "./key.ts";
import { again, pause as briefly } from "../../pause.ts";
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

export const createBatchWriter = ({ client, name, pause = briefly }: Table): BatchWriter => {
  const writeBatch = async (batch: readonly BatchItem[]): Promise<void> => {
    let wanted: Request[] = batch.map((item) =>
      "put" in item
        ? { PutRequest: { Item: { ...item.put } } }
        : { DeleteRequest: { Key: { ...item.delete } } },
    );
    const write = async (): Promise<"all" | "conflict"> => {
      const { UnprocessedItems } = await client.send(
        new BatchWriteCommand({ RequestItems: { [name]: wanted } }),
      );
      wanted = UnprocessedItems?.[name] ?? [];
      return wanted.length === 0 ? "all" : "conflict";
    };
    const failure = "DynamoDB repeatedly left items of a batch unprocessed.";
    await again(BATCH_ATTEMPTS, pause, write, failure);
  };
  return async (items) => {
    for (const some of chunks(items, ITEMS_PER_BATCH * BATCHES_AT_ONCE))
      await Promise.all(chunks(some, ITEMS_PER_BATCH).map(writeBatch));
  };
};
