import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import type { TestTable } from "../../testing/support/table.ts";

/**
 * The DynamoDB operations that store customers, in memory: thousands of times faster than DynamoDB Local. `turn` decides
 * the order in which concurrent requests reach the table. Each operation is one step, except that `midway` lets others
 * read a transaction's items one by one: as in DynamoDB, no batch of reads and no query is a snapshot.
 */
export interface MemoryTable extends TestTable {
  /** Awaited before each operation takes effect. */
  turn: (command: string) => Promise<void>;
  /** Awaited after a transaction takes effect, before all of its items are visible; null: not awaited. */
  midway: (() => Promise<void>) | null;
  /** Whether a read during a transaction sees the new version of one of its items, as all later reads then do. */
  seesAfter: () => boolean;
}

type Item = Record<string, unknown>;

const attributes = z.record(z.string(), z.unknown());
const names = z.record(z.string(), z.string()).optional();
const conditional = {
  ConditionExpression: z.string().optional(),
  ExpressionAttributeNames: names,
  ExpressionAttributeValues: attributes.optional(),
};
const put = z.object({ Item: attributes, ...conditional });
const remove = z.object({ Key: attributes, ...conditional });
const check = z.object({ Key: attributes, ...conditional });
const update = z.object({ Key: attributes, UpdateExpression: z.string(), ...conditional });
const get = z.object({ Key: attributes });
const batchGet = z.object({ RequestItems: z.record(z.string(), z.object({ Keys: z.array(attributes) })) });
const batchWrite = z.object({
  RequestItems: z.record(
    z.string(),
    z.array(
      z.object({
        PutRequest: z.object({ Item: attributes }).optional(),
        DeleteRequest: z.object({ Key: attributes }).optional(),
      }),
    ),
  ),
});
const transactGet = z.object({ TransactItems: z.array(z.object({ Get: z.object({ Key: attributes }) })) });
const transactWrite = z.object({
  TransactItems: z.array(
    z.object({
      Put: put.optional(),
      Delete: remove.optional(),
      ConditionCheck: check.optional(),
      Update: update.optional(),
    }),
  ),
});
const query = z.object({
  KeyConditionExpression: z.enum([
    "#pk = :pk",
    "#pk = :pk AND begins_with(sk, :prefix)",
    "#pk = :pk AND sk < :before",
    "#pk = :pk AND sk > :after",
  ]),
  ExpressionAttributeNames: z.object({ "#pk": z.string() }),
  ExpressionAttributeValues: attributes,
});
const scan = z.object({ FilterExpression: z.string(), ExpressionAttributeValues: attributes });

type Condition = Pick<
  z.infer<typeof put>,
  "ConditionExpression" | "ExpressionAttributeNames" | "ExpressionAttributeValues"
>;

const textOf = (value: unknown): string => JSON.stringify(value ?? null);
const keyOf = (item: Item): string => JSON.stringify([item["pk"], item["sk"]]);

const TERM =
  /^(?:(?<presence>attribute_exists|attribute_not_exists)\((?<attribute>#?\w+)\)|begins_with\((?<text>#?\w+), (?<prefix>:\w+)\)|(?<left>#?\w+) (?<operator>=|<=|>=|<|>) (?<right>:\w+))$/;

const COMPARISONS: Record<string, (a: unknown, b: unknown) => boolean> = {
  "=": (a, b) => textOf(a) === textOf(b),
  "<=": (a, b) => Number(a) <= Number(b),
  ">=": (a, b) => Number(a) >= Number(b),
  "<": (a, b) => Number(a) < Number(b),
  ">": (a, b) => Number(a) > Number(b),
};

/** Splits at separators outside parentheses. */
const split = (expression: string, separator: string): string[] =>
  expression.split(separator).reduce<string[]>((parts, part) => {
    const last = parts.at(-1);
    const isOpen = last !== undefined && last.split("(").length > last.split(")").length;
    return isOpen ? [...parts.slice(0, -1), `${last}${separator}${part}`] : [...parts, part];
  }, []);

/**
 * Evaluates presence, prefixes, comparisons, AND, OR and parentheses. Any other expression is an error of the test.
 */
const holds = (item: Item | undefined, condition: Condition): boolean => {
  const { ConditionExpression: expression, ExpressionAttributeNames, ExpressionAttributeValues } = condition;
  if (expression === undefined) return true;
  const valueOf = (name = ""): unknown =>
    item?.[name.startsWith("#") ? (ExpressionAttributeNames?.[name] ?? name) : name];
  return split(expression, " OR ").some((alternative) =>
    split(alternative, " AND ").every((term) => {
      if (term.startsWith("(")) return holds(item, { ...condition, ConditionExpression: term.slice(1, -1) });
      const {
        presence,
        attribute,
        text,
        prefix = "",
        left,
        operator = "",
        right = "",
      } = TERM.exec(term)?.groups ?? {};
      if (presence !== undefined)
        return (presence === "attribute_exists") === (valueOf(attribute) !== undefined);
      if (text !== undefined)
        return String(valueOf(text)).startsWith(String(ExpressionAttributeValues?.[prefix]));
      const comparison = COMPARISONS[operator];
      if (comparison === undefined) throw new Error(`The memory table does not understand ${term}.`);
      const actual = valueOf(left);
      return actual !== undefined && comparison(actual, ExpressionAttributeValues?.[right]);
    }),
  );
};

/** `SET a = :b, c = if_not_exists(c, :d) REMOVE e, f`, or `ADD a :b`. */
const updated = (item: Item, { UpdateExpression, ...condition }: z.infer<typeof update>): Item => {
  const result = { ...item };
  const { ExpressionAttributeNames, ExpressionAttributeValues } = condition;
  const nameOf = (name: string): string => ExpressionAttributeNames?.[name] ?? name;
  const actions = /(SET|REMOVE|ADD) (.*?)(?= SET | REMOVE | ADD |$)/g;
  for (const [, action, list = ""] of UpdateExpression.matchAll(actions))
    for (const part of split(list, ", ")) {
      const [name = "", value = ""] = part.split(action === "ADD" ? " " : " = ");
      const [, kept, preset] = /^if_not_exists\((#?\w+), (:\w+)\)$/.exec(value) ?? [];
      const given =
        kept === undefined
          ? ExpressionAttributeValues?.[value]
          : (item[nameOf(kept)] ?? ExpressionAttributeValues?.[preset ?? ""]);
      if (action === "REMOVE") delete result[nameOf(name)];
      else if (action === "ADD") result[nameOf(name)] = Number(result[nameOf(name)] ?? 0) + Number(given);
      else if (given === undefined) throw new Error(`The memory table does not understand ${part}.`);
      else result[nameOf(name)] = given;
    }
  return result;
};

export const createMemoryTable = (): MemoryTable => {
  const name = "memory";
  const items = new Map<string, Item>();
  const base = new DynamoDBClient({
    region: "us-east-1",
    credentials: { accessKeyId: "memory", secretAccessKey: "memory" },
  });

  /** Keys of items in unfinished transactions, and the old versions of those whose new version is not visible yet. */
  const locked = new Set<string>();
  const unseen = new Map<string, Item | undefined>();
  const seen = (key: string): Item | undefined => {
    if (unseen.has(key) && table.seesAfter()) unseen.delete(key);
    return unseen.has(key) ? unseen.get(key) : items.get(key);
  };

  const operations: Record<string, (input: unknown) => object | Promise<object>> = {
    BatchGetItemCommand: (input) => {
      const { Keys } = batchGet.parse(input).RequestItems[name] ?? { Keys: [] };
      const found = Keys.map((key) => seen(keyOf(key))).filter((item) => item !== undefined);
      return { Responses: { [name]: found }, UnprocessedKeys: {} };
    },
    BatchWriteItemCommand: (input) => {
      for (const { PutRequest, DeleteRequest } of batchWrite.parse(input).RequestItems[name] ?? []) {
        if (PutRequest !== undefined) items.set(keyOf(PutRequest.Item), PutRequest.Item);
        if (DeleteRequest !== undefined) items.delete(keyOf(DeleteRequest.Key));
      }
      return { UnprocessedItems: {} };
    },
    TransactGetItemsCommand: (input) => {
      const wanted = transactGet.parse(input).TransactItems.map(({ Get }) => keyOf(Get.Key));
      const reasons = wanted.map((key) => ({ Code: locked.has(key) ? "TransactionConflict" : "None" }));
      if (reasons.some(({ Code }) => Code !== "None"))
        throw new TransactionCanceledException({
          message: "Transaction cancelled",
          CancellationReasons: reasons,
          $metadata: {},
        });
      return { Responses: wanted.map((key) => ({ Item: items.get(key) })) };
    },
    TransactWriteItemsCommand: async (input) => {
      const { TransactItems } = transactWrite.parse(input);
      if (TransactItems.length > 100) throw new Error("More than 100 items in one transaction.");
      const writes = TransactItems.map((item) => {
        const write = item.Put ?? item.Delete ?? item.ConditionCheck ?? item.Update;
        if (write === undefined) throw new Error("The memory table does not understand a write.");
        return { ...item, key: keyOf("Item" in write ? write.Item : write.Key), condition: write };
      });
      if (new Set(writes.map(({ key }) => key)).size < writes.length)
        throw new Error("One transaction names an item twice.");
      const reasons = writes.map(({ key, condition }) => ({
        Code: locked.has(key)
          ? "TransactionConflict"
          : holds(items.get(key), condition)
            ? "None"
            : "ConditionalCheckFailed",
      }));
      if (reasons.some(({ Code }) => Code !== "None"))
        throw new TransactionCanceledException({
          message: "Transaction cancelled",
          CancellationReasons: reasons,
          $metadata: {},
        });
      const before = writes.map(({ key }) => [key, items.get(key)] as const);
      for (const { key, Put, Delete, Update } of writes) {
        if (Put !== undefined) items.set(key, Put.Item);
        if (Delete !== undefined) items.delete(key);
        if (Update !== undefined) items.set(key, updated(items.get(key) ?? Update.Key, Update));
      }
      if (table.midway === null) return {};
      for (const [key, item] of before) {
        locked.add(key);
        unseen.set(key, item);
      }
      try {
        await table.midway();
      } finally {
        for (const [key] of before) {
          locked.delete(key);
          unseen.delete(key);
        }
      }
      return {};
    },
    QueryCommand: (input) => {
      const { ExpressionAttributeNames, ExpressionAttributeValues } = query.parse(input);
      const {
        ":pk": pk,
        ":prefix": prefix = "",
        ":before": before,
        ":after": after,
      } = ExpressionAttributeValues;
      // Of an index, it is the index's own partition key.
      const partitionKey = ExpressionAttributeNames["#pk"];
      const all = [...new Set([...items.keys(), ...unseen.keys()])].map(seen);
      const found = all
        .filter((item) => item !== undefined)
        .filter((item) => item[partitionKey] === pk && String(item["sk"]).startsWith(String(prefix)))
        .filter(({ sk }) => before === undefined || String(sk) < String(before))
        .filter(({ sk }) => after === undefined || String(sk) > String(after));
      return { Items: found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) };
    },
    ScanCommand: (input) => {
      const { FilterExpression, ...values } = scan.parse(input);
      const condition = { ConditionExpression: FilterExpression, ...values };
      return { Items: [...items.values()].filter((item) => holds(item, condition)) };
    },
    UpdateItemCommand: (input) => {
      const write = update.parse(input);
      const key = keyOf(write.Key);
      if (locked.has(key))
        throw new TransactionConflictException({ message: "Transaction is ongoing", $metadata: {} });
      if (!holds(items.get(key), write))
        throw new ConditionalCheckFailedException({
          message: "The conditional request failed",
          $metadata: {},
        });
      const written = updated(items.get(key) ?? write.Key, write);
      items.set(key, written);
      return { Attributes: written };
    },
    DeleteItemCommand: (input) => {
      const write = remove.parse(input);
      const key = keyOf(write.Key);
      if (locked.has(key))
        throw new TransactionConflictException({ message: "Transaction is ongoing", $metadata: {} });
      if (!holds(items.get(key), write))
        throw new ConditionalCheckFailedException({
          message: "The conditional request failed",
          $metadata: {},
        });
      items.delete(key);
      return {};
    },
    GetItemCommand: (input) => {
      const item = seen(keyOf(get.parse(input).Key));
      return item === undefined ? {} : { Item: item };
    },
  };

  const table: MemoryTable = {
    client: DynamoDBDocumentClient.from(base),
    name,
    sent: [],
    turn: () => Promise.resolve(),
    midway: null,
    seesAfter: () => true,
    items: () =>
      Promise.resolve(
        [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => structuredClone(item)),
      ),
    remove: () => {
      base.destroy();
      return Promise.resolve();
    },
  };
  base.middlewareStack.add(
    (_next, context) => async (args) => {
      const command = String(context["commandName"]);
      table.sent.push({ command });
      await table.turn(command);
      const operation = operations[command];
      if (operation === undefined) throw new Error(`The memory table does not understand ${command}.`);
      const output = structuredClone(await operation(structuredClone(args.input)));
      return { output: Object.assign({ $metadata: {} }, output), response: {} };
    },
    { step: "initialize", priority: "high" },
  );
  return table;
};
