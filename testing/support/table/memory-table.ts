import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
  type CancellationReason,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { matches, projected, type Item } from "./expressions.ts";
import * as request from "./memory-requests.ts";
import type { TestTable } from "./table.ts";

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

const MOST_BYTES = 400 * 1024;

/**
 * Items of the table in memory, and what reads see of them while a transaction is applied.
 *
 * @param seesAfter whether a read during a transaction sees the new version of one of its items, as all later reads then do
 */
const createStorage = (seesAfter: () => boolean) => {
  /** By partition, then by sort key. */
  const partitions = new Map<string, Map<string, Item>>();
  /** Items of unfinished transactions, as they were before. */
  const applying = new Map<string, { readonly before: Item | undefined; isVisible: boolean }>();

  const stored = ({ pk, sk }: Item): Item | undefined => partitions.get(String(pk))?.get(String(sk));
  const storedItems = (): Item[] => [...partitions.values()].flatMap((partition) => [...partition.values()]);

  /** An item as a read sees it. */
  const seen = (key: Item): Item | undefined => {
    const change = applying.get(request.textOfKey(key));
    if (change === undefined) return stored(key);
    change.isVisible ||= seesAfter();
    return change.isVisible ? stored(key) : change.before;
  };
  const visible = (keys: readonly Item[]): Item[] => keys.map(seen).filter((item) => item !== undefined);
  const all = (): Item[] => {
    const deleted = [...applying.values()].flatMap(({ before }) =>
      before === undefined || stored(before) !== undefined ? [] : [before],
    );
    return visible([...storedItems(), ...deleted]);
  };

  return {
    stored,
    seen,
    visible,
    all,
    isLocked: (key: Item): boolean => applying.has(request.textOfKey(key)),

    /** Replaces an item, or deletes it. */
    store: ({ pk, sk }: Item, item: Item | undefined): void => {
      const partition = partitions.get(String(pk)) ?? new Map<string, Item>();
      if (item === undefined) partition.delete(String(sk));
      else if (request.bytesOfItem(item) > MOST_BYTES)
        throw request.invalid("Item size has exceeded the maximum allowed size");
      else partition.set(String(sk), item);
      if (partition.size > 0) partitions.set(String(pk), partition);
      else partitions.delete(String(pk));
    },

    /** The visible items with this value, without looking at all others where that is cheap. */
    having: (attribute: string, value: string): Item[] =>
      attribute === "pk" && applying.size === 0
        ? [...(partitions.get(value)?.values() ?? [])]
        : all().filter((item) => item[attribute] === value),

    /** Locks the items of a transaction, whose versions from before reads may still see. */
    during: async (
      before: readonly (readonly [key: Item, item: Item | undefined])[],
      act: () => Promise<void>,
    ): Promise<void> => {
      for (const [key, item] of before)
        applying.set(request.textOfKey(key), { before: item, isVisible: false });
      try {
        await act();
      } finally {
        for (const [key] of before) applying.delete(request.textOfKey(key));
      }
    },

    /** Copies of all items, or of those whose key contains the text, in order of key. */
    copies: (containing: string): Item[] =>
      storedItems()
        .filter(({ pk, sk }) => String(pk).includes(containing) || String(sk).includes(containing))
        .sort((a, b) => (request.textOfKey(a) < request.textOfKey(b) ? -1 : 1))
        .map(request.copyOf),
  };
};

const NAME = "memory";
const KEYS_PER_TRANSACTION = 100;

type Storage = ReturnType<typeof createStorage>;

const CONFLICT = { Code: "TransactionConflict" } as const;

/** Why a write is refused; `None`: it is not. */
const reasonOf = ({ stored, isLocked }: Storage, write: request.Write): CancellationReason => {
  const condition = request.conditionOf(write);
  if (isLocked(condition.Key)) return CONFLICT;
  const item = stored(condition.Key);
  if (matches(condition.ConditionExpression, item ?? {}, condition)) return { Code: "None" };
  const isReturned = condition.ReturnValuesOnConditionCheckFailure !== undefined && item !== undefined;
  return { Code: "ConditionalCheckFailed", ...(isReturned && { Item: request.attributesOf(item) }) };
};

const requireNone = (reasons: readonly CancellationReason[]): void => {
  if (reasons.every(({ Code }) => Code === "None")) return;
  const message = "Transaction cancelled, please refer cancellation reasons for specific reasons";
  throw new TransactionCanceledException({ message, CancellationReasons: [...reasons], $metadata: {} });
};

/** Writes one item outside a transaction. */
const writeAlone = (storage: Storage, write: request.Write): Item | undefined => {
  const { Code, Item } = reasonOf(storage, write);
  if (Code === CONFLICT.Code)
    throw new TransactionConflictException({ message: "Transaction is ongoing", $metadata: {} });
  if (Code !== "None") {
    const message = "The conditional request failed";
    throw new ConditionalCheckFailedException({ message, ...(Item && { Item }), $metadata: {} });
  }
  const { Key } = request.conditionOf(write);
  const item = request.after(write, storage.stored(Key));
  storage.store(Key, item);
  return item;
};

const transact = async (
  storage: Storage,
  writes: readonly request.Write[],
  midway: MemoryTable["midway"],
): Promise<Item> => {
  const keys = writes.map((write) => request.conditionOf(write).Key);
  request.requireDistinct(keys, KEYS_PER_TRANSACTION);
  requireNone(writes.map((write) => reasonOf(storage, write)));
  const before = keys.map((key) => [key, storage.stored(key)] as const);
  for (const write of writes) {
    const { Key } = request.conditionOf(write);
    storage.store(Key, request.after(write, storage.stored(Key)));
  }
  if (midway !== null) await storage.during(before, midway);
  return {};
};

type Operation = (storage: Storage, input: unknown, midway: MemoryTable["midway"]) => Item | Promise<Item>;

const READS: Readonly<Record<string, Operation>> = {
  GetItemCommand: ({ seen }, input) => {
    const { Key, ProjectionExpression, ...given } = request.get.parse(input);
    const item = seen(Key);
    return item === undefined ? {} : { Item: projected(item, ProjectionExpression, given) };
  },
  BatchGetItemCommand: ({ visible }, input) => {
    const { Keys } = request.batchGet.parse(input).RequestItems[NAME] ?? { Keys: [] };
    request.requireDistinct(Keys, 100);
    return { Responses: { [NAME]: visible(Keys) }, UnprocessedKeys: {} };
  },
  TransactGetItemsCommand: ({ stored, isLocked }, input) => {
    const wanted = request.transactGet.parse(input).TransactItems.map(({ Get }) => Get);
    const keys = wanted.map(({ Key }) => Key);
    request.requireDistinct(keys, KEYS_PER_TRANSACTION);
    requireNone(keys.map((key) => (isLocked(key) ? CONFLICT : { Code: "None" })));
    return {
      Responses: wanted.map((one) => {
        const item = stored(one.Key);
        return item === undefined ? {} : { Item: projected(item, one.ProjectionExpression, one) };
      }),
    };
  },
  QueryCommand: ({ having }, input) => {
    const { KeyConditionExpression, ...given } = request.query.parse(input);
    const partition = having(
      given.ExpressionAttributeNames["#pk"] ?? "",
      given.ExpressionAttributeValues[":pk"],
    );
    const found = partition.filter((item) => matches(KeyConditionExpression, item, given));
    return request.pageOf(found, given);
  },
  ScanCommand: ({ all }, input) => request.pageOf(all(), request.scan.parse(input)),
};

const WRITES: Readonly<Record<string, Operation>> = {
  BatchWriteItemCommand: ({ store }, input) => {
    const requests = request.batchWrite.parse(input).RequestItems[NAME] ?? [];
    const writes = requests.map(
      ({ PutRequest, DeleteRequest }) =>
        [PutRequest?.Item ?? DeleteRequest?.Key ?? {}, PutRequest?.Item] as const,
    );
    request.requireDistinct(
      writes.map(([key]) => key),
      25,
    );
    for (const [key, item] of writes) store(key, item);
    return { UnprocessedItems: {} };
  },
  TransactWriteItemsCommand: (storage, input, midway) =>
    transact(storage, request.transactWrite.parse(input).TransactItems, midway),
  PutItemCommand: (storage, input) => {
    writeAlone(storage, { Put: request.put.parse(input) });
    return {};
  },
  UpdateItemCommand: (storage, input) => {
    const Update = request.update.parse(input);
    const item = writeAlone(storage, { Update });
    return Update.ReturnValues === undefined ? {} : { Attributes: item };
  },
  DeleteItemCommand: (storage, input) => {
    writeAlone(storage, { Delete: request.ofKey.parse(input) });
    return {};
  },
};

/** A client whose requests are answered here. */
const clientOf = (answer: (command: string, input: unknown) => Promise<Item>): DynamoDBDocumentClient => {
  const credentials = { accessKeyId: "memory", secretAccessKey: "memory" };
  const client = new DynamoDBClient({ region: "us-east-1", credentials });
  client.middlewareStack.add(
    (_next, context) => async (args) => {
      const output = await answer(String(context["commandName"]), args.input);
      return { output: { $metadata: {}, ...request.copyOf(output) }, response: {} };
    },
    { step: "initialize", priority: "low" },
  );
  return DynamoDBDocumentClient.from(client);
};

export const createMemoryTable = (): MemoryTable => {
  const storage = createStorage(() => table.seesAfter());
  const connect = (): DynamoDBDocumentClient =>
    clientOf(async (command, input) => {
      table.sent.push(command);
      await table.turn(command);
      const operation = READS[command] ?? WRITES[command];
      if (operation === undefined) throw new Error(`The memory table does not understand ${command}.`);
      return operation(storage, input, table.midway);
    });
  const table: MemoryTable = {
    client: connect(),
    name: NAME,
    sent: [],
    turn: () => Promise.resolve(),
    midway: null,
    seesAfter: () => true,
    connect,
    items: (containing = "") => Promise.resolve(storage.copies(containing)),
    remove: () => Promise.resolve(),
  };
  return table;
};
