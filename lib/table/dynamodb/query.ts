import { QueryCommand, type QueryCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Key } from "./key.ts";
import type { Item, Table } from "./table.ts";

/** Items of a partition, of the table or of its index. */
export interface PartitionQuery {
  readonly pk: string;
  /** Prefix of the sort keys to return; unset: all. */
  readonly sortKeyPrefix?: string;
  /** Sort keys to return come before this; unset: all. */
  readonly sortKeyBefore?: string;
  /** Sort keys to return come after this; unset: all. */
  readonly sortKeyAfter?: string;
  /** Unset: as many as 1 MB holds. */
  readonly itemsPerPage?: number;
  /** Unset: the table itself. An index lags behind its table, so it is not strongly consistent. */
  readonly index?: { readonly name: string; readonly partitionKey: string };
}

/**
 * Pages of items, ordered by sort key; one request per page. Not by the document client's paginator: with it, a warm read took 1.18 to
 * 1.20 times the processor time of a plain Query, and without it 1.04 times, one after the other on one machine.
 */
export const queryPages = async function* (
  { client, name }: Table,
  { pk, sortKeyPrefix, sortKeyBefore, sortKeyAfter, itemsPerPage, index }: PartitionQuery,
): AsyncGenerator<readonly Item[]> {
  const input: QueryCommandInput = {
    TableName: name,
    KeyConditionExpression: [
      "#pk = :pk",
      ...(sortKeyPrefix === undefined ? [] : ["begins_with(sk, :prefix)"]),
      ...(sortKeyBefore === undefined ? [] : ["sk < :before"]),
      ...(sortKeyAfter === undefined ? [] : ["sk > :after"]),
    ].join(" AND "),
    ExpressionAttributeNames: { "#pk": index?.partitionKey ?? ("pk" satisfies keyof Key) },
    ExpressionAttributeValues: {
      ":pk": pk,
      ...(sortKeyPrefix !== undefined && { ":prefix": sortKeyPrefix }),
      ...(sortKeyBefore !== undefined && { ":before": sortKeyBefore }),
      ...(sortKeyAfter !== undefined && { ":after": sortKeyAfter }),
    },
    ...(itemsPerPage !== undefined && { Limit: itemsPerPage }),
    ...(index === undefined ? { ConsistentRead: true } : { IndexName: index.name }),
  };
  let from: QueryCommandInput["ExclusiveStartKey"];
  do {
    const page = await client.send(new QueryCommand({ ...input, ExclusiveStartKey: from }));
    yield page.Items ?? [];
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
};

export const queryItems = async (table: Table, query: PartitionQuery): Promise<readonly Item[]> => {
  const items: Item[] = [];
  for await (const page of queryPages(table, query)) items.push(...page);
  return items;
};
