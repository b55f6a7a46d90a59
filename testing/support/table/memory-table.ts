import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
  type CancellationReason,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import { TABLE } from "../../../lib/table/dynamodb/key.ts";
import { matches, projected, type Item } from "./expressions.ts";
import type { TestTable } from "./table.ts";
import {
  copyOf,
  put,
  ofKey,
  update,
  get,
  batchGet,
  batchWrite,
  transactGet,
  transactWrite,
  query,
  scan,
  type Write,
  MOST_KEYS,
  MOST_BYTES,
  invalid,
  attributesOf,
  bytesOfItem,
  textOfKey,
  byKey,
  requireDistinct,
  writeOf,
  after,
} from "./memory-requests.ts";

/**
 * The service's table in memory, behind the SDK's own client: it answers the operations and expressions that the service
 * sends, and any other is an error. `memory-table.test.ts` runs the same cases on it and on DynamoDB Local.
 *
 * `turn` decides the order in which concurrent requests reach the table. Each operation is one step, except that
 * `midway` lets others read a transaction's items one by one: as in DynamoDB, no batch of reads and no query is a
 * snapshot.
 */
export interface MemoryTable extends TestTable {
  /** Awaited before each operation takes effect. */
  turn: (command: string) => Promise<void>;
  /** Awaited after a transaction takes effect, before all of its items are visible; null: not awaited. */
  midway: (() => Promise<void>) | null;
  /** Whether a read during a transaction sees the new version of one of its items, as all later reads then do. */
  seesAfter: () => boolean;
}

export const createMemoryTable = (): MemoryTable => {
  const name = "memory";
  /** By partition, then by sort key. */
  const partitions = new Map<string, Map<string, Item>>();
  const stored = ({ pk, sk }: Item): Item | undefined => partitions.get(String(pk))?.get(String(sk));
  const store = ({ pk, sk }: Item, item: Item | undefined): void => {
    const partition = partitions.get(String(pk)) ?? new Map<string, Item>();
    if (item === undefined) partition.delete(String(sk));
    else {
      if (bytesOfItem(item) > MOST_BYTES.item)
        throw invalid("Item size has exceeded the maximum allowed size");
      partition.set(String(sk), item);
    }
    if (partition.size > 0) partitions.set(String(pk), partition);
    else partitions.delete(String(pk));
  };

  /** Keys of items in unfinished transactions, and the old versions of those whose new version is not visible yet. */
  const locked = new Set<string>();
  const unseen = new Map<string, Item | undefined>();
  const seen = (named: Item): Item | undefined => {
    const text = textOfKey(named);
    if (unseen.has(text) && table.seesAfter()) unseen.delete(text);
    return unseen.has(text) ? unseen.get(text) : stored(named);
  };

  const visible = (items: Iterable<Item>): Item[] =>
    [...items].flatMap((item) => {
      const one = seen(item);
      return one === undefined ? [] : [one];
    });
  const all = (): Item[] => {
    const now = [...partitions.values()].flatMap((partition) => [...partition.values()]);
    const deleted = [...unseen.values()].filter((item) => item !== undefined && stored(item) === undefined);
    return visible([...now, ...deleted].filter((item) => item !== undefined));
  };
  /** The visible items of a partition, without those of all others where that is cheap. */
  const inPartition = (attribute: string, pk: string): Item[] =>
    attribute === "pk" && unseen.size === 0
      ? [...(partitions.get(pk)?.values() ?? [])]
      : all().filter((item) => item[attribute] === pk);

  /** One page of these items: by key, after the start key, up to the limits. */
  const pageOf = (items: readonly Item[], input: z.infer<typeof scan>): Item => {
    const { Limit = Infinity, ExclusiveStartKey: start, FilterExpression, IndexName } = input;
    if (IndexName !== undefined && input.ConsistentRead === true)
      throw invalid("Consistent reads are not supported on global secondary indexes");
    const rest = items.toSorted(byKey).filter((item) => start === undefined || byKey(item, start) > 0);
    let bytes = 0;
    const scanned: Item[] = [];
    for (const item of rest) {
      if (scanned.length === Limit || bytes >= MOST_BYTES.page) break;
      bytes += bytesOfItem(item);
      scanned.push(item);
    }
    const last = scanned.at(-1);
    const found = scanned.filter((item) => matches(FilterExpression, item, input));
    const isWhole = scanned.length === rest.length && scanned.length < Limit && bytes < MOST_BYTES.page;
    const keyOf = (item: Item): Item => {
      const owner = item[TABLE.ownerAttribute];
      return {
        pk: item["pk"],
        sk: item["sk"],
        ...(IndexName !== undefined && { [TABLE.ownerAttribute]: owner }),
      };
    };
    return {
      Items: found.map((item) =>
        IndexName === undefined ? projected(item, input.ProjectionExpression, input) : keyOf(item),
      ),
      Count: found.length,
      ScannedCount: scanned.length,
      ...(last !== undefined && !isWhole && { LastEvaluatedKey: keyOf(last) }),
    };
  };

  const reasonOf = (write: Write): CancellationReason => {
    const { named, condition } = writeOf(write);
    if (locked.has(textOfKey(named))) return { Code: "TransactionConflict" };
    const item = stored(named);
    if (matches(condition.ConditionExpression, item ?? {}, condition)) return { Code: "None" };
    return {
      Code: "ConditionalCheckFailed",
      ...(condition.ReturnValuesOnConditionCheckFailure !== undefined &&
        item !== undefined && { Item: attributesOf(item) }),
    };
  };
  const requireNone = (reasons: readonly CancellationReason[]): void => {
    if (reasons.every(({ Code }) => Code === "None")) return;
    const message = "Transaction cancelled, please refer cancellation reasons for specific reasons";
    throw new TransactionCanceledException({ message, CancellationReasons: [...reasons], $metadata: {} });
  };
  /** Writes one item outside a transaction. */
  const writeAlone = (write: Write): Item | undefined => {
    const { Code, ...details } = reasonOf(write);
    if (Code === "TransactionConflict")
      throw new TransactionConflictException({ message: "Transaction is ongoing", $metadata: {} });
    if (Code !== "None")
      throw new ConditionalCheckFailedException({
        message: "The conditional request failed",
        ...(details.Item !== undefined && { Item: details.Item }),
        $metadata: {},
      });
    const { named } = writeOf(write);
    const item = after(write, stored(named));
    store(named, item);
    return item;
  };

  const transact = async (writes: readonly Write[]): Promise<Item> => {
    const named = writes.map((write) => writeOf(write).named);
    requireDistinct(named.map(textOfKey), MOST_KEYS.transaction);
    requireNone(writes.map(reasonOf));
    const before = named.map((one) => [one, stored(one)] as const);
    for (const [index, write] of writes.entries()) {
      const [one = {}, item] = before[index] ?? [];
      store(one, after(write, item));
    }
    if (table.midway === null) return {};
    for (const [one, item] of before) {
      locked.add(textOfKey(one));
      unseen.set(textOfKey(one), item);
    }
    try {
      await table.midway();
    } finally {
      for (const one of named.map(textOfKey)) {
        locked.delete(one);
        unseen.delete(one);
      }
    }
    return {};
  };

  const operations: Record<string, (input: unknown) => Item | Promise<Item>> = {
    GetItemCommand: (input) => {
      const { Key, ProjectionExpression, ...given } = get.parse(input);
      const item = seen(Key);
      return item === undefined ? {} : { Item: projected(item, ProjectionExpression, given) };
    },
    BatchGetItemCommand: (input) => {
      const { Keys } = batchGet.parse(input).RequestItems[name] ?? { Keys: [] };
      requireDistinct(Keys.map(textOfKey), MOST_KEYS.batchGet);
      return { Responses: { [name]: visible(Keys) }, UnprocessedKeys: {} };
    },
    BatchWriteItemCommand: (input) => {
      const writes = (batchWrite.parse(input).RequestItems[name] ?? []).map(
        (request): readonly [Item, Item | undefined] =>
          "PutRequest" in request
            ? [request.PutRequest.Item, request.PutRequest.Item]
            : [request.DeleteRequest.Key, undefined],
      );
      requireDistinct(
        writes.map(([named]) => textOfKey(named)),
        MOST_KEYS.batchWrite,
      );
      for (const [named, item] of writes) store(named, item);
      return { UnprocessedItems: {} };
    },
    TransactGetItemsCommand: (input) => {
      const wanted = transactGet.parse(input).TransactItems.map(({ Get }) => Get);
      requireDistinct(
        wanted.map(({ Key }) => textOfKey(Key)),
        MOST_KEYS.transaction,
      );
      requireNone(
        wanted.map(({ Key }) => ({ Code: locked.has(textOfKey(Key)) ? "TransactionConflict" : "None" })),
      );
      return {
        Responses: wanted.map((one) => {
          const item = stored(one.Key);
          return item === undefined ? {} : { Item: projected(item, one.ProjectionExpression, one) };
        }),
      };
    },
    TransactWriteItemsCommand: (input) => transact(transactWrite.parse(input).TransactItems),
    PutItemCommand: (input) => {
      writeAlone({ Put: put.parse(input) });
      return {};
    },
    UpdateItemCommand: (input) => {
      const write = update.parse(input);
      const item = writeAlone({ Update: write });
      return write.ReturnValues === undefined ? {} : { Attributes: item };
    },
    DeleteItemCommand: (input) => {
      writeAlone({ Delete: ofKey.parse(input) });
      return {};
    },
    QueryCommand: (input) => {
      const { KeyConditionExpression, ...given } = query.parse(input);
      const partition = given.ExpressionAttributeNames["#pk"] ?? "";
      const found = inPartition(partition, given.ExpressionAttributeValues[":pk"]);
      return pageOf(
        found.filter((item) => matches(KeyConditionExpression, item, given)),
        given,
      );
    },
    ScanCommand: (input) => pageOf(all(), scan.parse(input)),
  };

  const connect = (): DynamoDBDocumentClient => {
    const client = new DynamoDBClient({
      region: "us-east-1",
      credentials: { accessKeyId: "memory", secretAccessKey: "memory" },
    });
    client.middlewareStack.add(
      (_next, context) => async (args) => {
        const command = String(context["commandName"]);
        table.sent.push({ command });
        await table.turn(command);
        const operation = operations[command];
        if (operation === undefined) throw new Error(`The memory table does not understand ${command}.`);
        const output = copyOf(await operation(args.input));
        return { output: { $metadata: {}, ...output }, response: {} };
      },
      { step: "initialize", priority: "low" },
    );
    return DynamoDBDocumentClient.from(client);
  };

  const table: MemoryTable = {
    client: connect(),
    name,
    sent: [],
    turn: () => Promise.resolve(),
    midway: null,
    seesAfter: () => true,
    connect,
    items: (containing = "") =>
      Promise.resolve(
        [...partitions.values()]
          .flatMap((partition) => [...partition.values()])
          .filter(({ pk, sk }) => String(pk).includes(containing) || String(sk).includes(containing))
          .sort((a, b) => (textOfKey(a) < textOfKey(b) ? -1 : 1))
          .map(copyOf),
      ),
    remove: () => Promise.resolve(),
  };
  return table;
};
