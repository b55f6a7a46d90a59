import { DynamoDBServiceException, type AttributeValue } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { TABLE } from "../../../lib/table/dynamodb/key.ts";
import { compareText, updated, type Item } from "./expressions.ts";

/** Whether it is an object of no class, whatever its realm. */
const isPlain = (value: object): boolean => Object.getPrototypeOf(Object.getPrototypeOf(value)) === null;

/** A copy of a value that DynamoDB can store. */
const copied = (value: unknown): unknown => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map(copied);
  if (typeof value === "object" && isPlain(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]));
  throw new Error(`A table cannot store ${String(value)}.`);
};

/** A copy of an item's attributes. The document client leaves out undefined ones, and refuses undefined values in them. */
export const copyOf = (item: Item): Item =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, copied(value)]])),
  );

const attributes = z.record(z.string(), z.unknown()).transform(copyOf);
export const key = z.strictObject({ pk: z.string().min(1), sk: z.string().min(1) });
const placeholders = {
  ExpressionAttributeNames: z.record(z.string(), z.string()).optional(),
  ExpressionAttributeValues: attributes.optional(),
};
export const conditional = {
  TableName: z.string(),
  ConditionExpression: z.string().optional(),
  ReturnValuesOnConditionCheckFailure: z.literal("ALL_OLD").optional(),
  ...placeholders,
};
export const put = z.strictObject({ Item: attributes, ...conditional });
export const ofKey = z.strictObject({ Key: key, ...conditional });
export const update = z.strictObject({
  Key: key,
  UpdateExpression: z.string(),
  ReturnValues: z.literal("ALL_NEW").optional(),
  ...conditional,
});
export const get = z.strictObject({
  TableName: z.string(),
  Key: key,
  ConsistentRead: z.boolean().optional(),
  ProjectionExpression: z.string().optional(),
  ...placeholders,
});
export const batchGet = z.strictObject({
  RequestItems: z.record(
    z.string(),
    z.strictObject({ Keys: z.array(key), ConsistentRead: z.boolean().optional() }),
  ),
});
export const batchWrite = z.strictObject({
  RequestItems: z.record(
    z.string(),
    z.array(
      z.union([
        z.strictObject({ PutRequest: z.strictObject({ Item: attributes }) }),
        z.strictObject({ DeleteRequest: z.strictObject({ Key: key }) }),
      ]),
    ),
  ),
});
export const transactGet = z.strictObject({ TransactItems: z.array(z.strictObject({ Get: get })) });
export const transactWrite = z.strictObject({
  TransactItems: z.array(
    z.union([
      z.strictObject({ Put: put }),
      z.strictObject({ Delete: ofKey }),
      z.strictObject({ ConditionCheck: ofKey }),
      z.strictObject({ Update: update }),
    ]),
  ),
});
export const page = {
  TableName: z.string(),
  IndexName: z.literal(TABLE.ownerIndex).optional(),
  ConsistentRead: z.boolean().optional(),
  Limit: z.int().positive().optional(),
  ExclusiveStartKey: attributes.optional(),
  ProjectionExpression: z.string().optional(),
  ...placeholders,
};
export const query = z.strictObject({
  KeyConditionExpression: z.templateLiteral(["#pk = :pk", z.string()]),
  ...page,
  ExpressionAttributeNames: z.record(z.string(), z.string()),
  ExpressionAttributeValues: z.looseObject({ ":pk": z.string() }),
});
export const scan = z.strictObject({ FilterExpression: z.string().optional(), ...page });

export type Write = z.infer<typeof transactWrite>["TransactItems"][number];

export const MOST_KEYS = { batchGet: 100, batchWrite: 25, transaction: 100 } as const;
export const MOST_BYTES = { item: 400 * 1024, page: 1024 * 1024 } as const;

export const invalid = (message: string): Error =>
  new DynamoDBServiceException({ name: "ValidationException", message, $fault: "client", $metadata: {} });

/** The value as DynamoDB's JSON has it. */
const attributeOf = (value: unknown): AttributeValue => {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: String(value) };
  if (typeof value === "boolean") return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(attributeOf) };
  return value === null ? { NULL: true } : { M: attributesOf(Object(value)) };
};
export const attributesOf = (item: object): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, attributeOf(value)]));

/**
 * Bytes of a value as DynamoDB counts them.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
const bytesOf = (value: unknown): number => {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return Math.ceil(String(value).replaceAll(/[-.]/g, "").length / 2) + 1;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + 1 + bytesOf(one), 3);
  if (value === null || typeof value === "boolean") return 1;
  return bytesOfItem(Object(value)) + 3 + Object.keys(Object(value)).length;
};
export const bytesOfItem = (item: object): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + bytesOf(value), 0);

export const textOfKey = ({ pk, sk }: Item): string => JSON.stringify([pk, sk]);

export const byKey = (a: Item, b: Item): number =>
  compareText(String(a["pk"]), String(b["pk"])) || compareText(String(a["sk"]), String(b["sk"]));

export const requireDistinct = (keys: readonly string[], most: number): void => {
  if (keys.length === 0 || keys.length > most) throw invalid(`A request names 1 to ${most} items.`);
  if (new Set(keys).size < keys.length) throw invalid("A request names an item once.");
};

/** The item that a write names, and its condition. */
export const writeOf = (
  write: Write,
): { readonly named: Item; readonly condition: z.infer<typeof ofKey> } => {
  if ("Put" in write) {
    const { Item: named, ...condition } = write.Put;
    return { named, condition: { ...condition, Key: key.parse({ pk: named["pk"], sk: named["sk"] }) } };
  }
  const condition =
    "Delete" in write ? write.Delete : "Update" in write ? write.Update : write.ConditionCheck;
  return { named: condition.Key, condition };
};

/** The item after a write; undefined: there is none. */
export const after = (write: Write, before: Item | undefined): Item | undefined => {
  if ("Put" in write) return write.Put.Item;
  if ("Update" in write)
    return updated(before ?? write.Update.Key, write.Update.UpdateExpression, write.Update);
  return "Delete" in write ? undefined : before;
};
