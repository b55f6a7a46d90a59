import { BatchGetCommand } from "@aws-sdk/lib-dynamodb";
import { chunks } from "../../chunks.ts";
import { type Key, keyText } from "./key.ts";
import { again, pause as briefly } from "../../pause.ts";
import { keyIn, type Item, type Table } from "./table.ts";

/** Items by {@link keyText}; missing ones are left out. */
export type BatchReader = (wanted: readonly Key[]) => Promise<Map<string, Item>>;

const KEYS_PER_BATCH = 100;
const BATCH_ATTEMPTS = 8;

export const eachKeyOnce = (wanted: readonly Key[]): readonly Key[] => [
  ...new Map(wanted.map((key) => [keyText(key), key])).values(),
];

/** Strongly consistent reads in parallel batches of 100. Keys that DynamoDB leaves unprocessed are asked for again. */
export const createBatchReader = ({ client, name, pause = briefly }: Table): BatchReader => {
  const getBatch = async (batch: Key[]): Promise<Item[]> => {
    const items: Item[] = [];
    let wanted: Item[] = batch.map((key) => ({ ...key }));
    const get = async (): Promise<"all" | "conflict"> => {
      const answer = await client.send(
        new BatchGetCommand({ RequestItems: { [name]: { Keys: wanted, ConsistentRead: true } } }),
      );
      items.push(...(answer.Responses?.[name] ?? []));
      wanted = answer.UnprocessedKeys?.[name]?.Keys ?? [];
      return wanted.length === 0 ? "all" : "conflict";
    };
    const failure = "DynamoDB repeatedly left keys of a batch unprocessed.";
    await again(BATCH_ATTEMPTS, pause, get, failure);
    return items;
  };

  return async (wanted) => {
    const items = await Promise.all(chunks(eachKeyOnce(wanted), KEYS_PER_BATCH).map(getBatch));
    return new Map(items.flat().map((item) => [keyText(keyIn(item)), item]));
  };
};
