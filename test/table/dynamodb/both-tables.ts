import { ConditionalCheckFailedException, TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  type QueryCommandInput,
  type TransactWriteCommandInput,
  type UpdateCommandInput,
} from "@aws-sdk/lib-dynamodb";
import type { Item } from "../../../testing/support/table/expressions.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";

/** Names for the `#` placeholders of an expression, each after itself. */
export const namesIn = (expression: string): { ExpressionAttributeNames?: Record<string, string> } => {
  const names = [...expression.matchAll(/#(\w+)/g)].map(([placeholder, name = ""]) => [placeholder, name]);
  return names.length === 0 ? {} : { ExpressionAttributeNames: Object.fromEntries(names) };
};

/** Result of a request, or the name of its error, with the reasons of a cancelled transaction. */
export const resultOf = async (act: Promise<{ readonly $metadata: unknown }>): Promise<unknown> =>
  act.then(
    (result) =>
      Object.fromEntries(
        Object.entries(result).filter(
          ([name, value]) => !["$metadata", "ConsumedCapacity"].includes(name) && value !== undefined,
        ),
      ),
    (error: unknown) => {
      if (error instanceof TransactionCanceledException)
        return error.CancellationReasons?.map(({ Code, Item }) => (Item === undefined ? Code : [Code, Item]));
      if (error instanceof ConditionalCheckFailedException && error.Item !== undefined)
        return [error.name, error.Item];
      return error instanceof Error ? error.name : error;
    },
  );

/** A table in memory and one in DynamoDB Local. Where the two differ, the memory is wrong. */
export const bothTables = () => {
  const tables: TestTable[] = [];
  beforeAll(async () => {
    tables.push(createMemoryTable(), await createTestTable());
  });
  afterAll(() => Promise.all(tables.map((table) => table.remove())));
  let partitions = 0;
  return {
    /** A partition that no other case uses. */
    aPartition: (): string => `P${(partitions += 1)}`,
    /** What an act results in, which is the same on both. */
    alike: async (act: (table: TestTable) => Promise<unknown>): Promise<unknown> => {
      const [inMemory, local] = await Promise.all(tables.map(act));
      expect(inMemory).toEqual(local);
      return local;
    },
  };
};

export type Write = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** Requests to one of the tables. */
export const requestsTo = (table: TestTable) => {
  const { client, name: TableName } = table;
  const transact = (TransactItems: Write[]) =>
    resultOf(client.send(new TransactWriteCommand({ TransactItems })));
  /** Writes an item, and gives the updated one if that is wanted. A check is a transaction of its own. */
  const alone = async (
    { Put, Delete, Update, ...check }: Write,
    returned: Pick<UpdateCommandInput, "ReturnValues"> = {},
  ) => {
    if (Put !== undefined) return resultOf(client.send(new PutCommand(Put)));
    if (Delete !== undefined) return resultOf(client.send(new DeleteCommand(Delete)));
    if (Update === undefined) return transact([check]);
    return resultOf(client.send(new UpdateCommand({ ...(Update as UpdateCommandInput), ...returned })));
  };
  const put = (Item: Item) => alone({ Put: { TableName, Item } });
  return {
    TableName,
    alone,
    put,
    putAll: async (items: readonly Item[]) => {
      for (const item of items) expect(await put(item)).toEqual({});
    },
    read: (Key: Item) => resultOf(client.send(new GetCommand({ TableName, Key, ConsistentRead: true }))),
    transact,
    readTogether: (gets: readonly Item[]) =>
      resultOf(
        client.send(
          new TransactGetCommand({
            TransactItems: gets.map(({ pk, sk, ...more }) => ({
              Get: { TableName, Key: { pk, sk }, ...more },
            })),
          }),
        ),
      ),
    readAll: async (Keys: Item[]) => {
      const read = new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } });
      return client.send(read).then(
        ({ Responses, UnprocessedKeys }) => [
          Responses?.[TableName]?.toSorted((a, b) => (String(a["sk"]) < String(b["sk"]) ? -1 : 1)),
          UnprocessedKeys,
        ],
        ({ name }: Error) => name,
      );
    },
    writeAll: (requests: readonly object[]) =>
      resultOf(client.send(new BatchWriteCommand({ RequestItems: { [TableName]: [...requests] } }))),
    query: (pk: string, more: Partial<QueryCommandInput> = {}) => {
      const { KeyConditionExpression = "#pk = :pk", ExpressionAttributeValues, ...others } = more;
      return resultOf(
        client.send(
          new QueryCommand({
            TableName,
            KeyConditionExpression,
            ExpressionAttributeNames: { "#pk": "pk" },
            ExpressionAttributeValues: { ":pk": pk, ...ExpressionAttributeValues },
            ConsistentRead: true,
            ...others,
          }),
        ),
      );
    },
    items: table.items,
  };
};
