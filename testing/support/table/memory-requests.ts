import { DynamoDBServiceException, type AttributeValue } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { TABLE } from "../../../lib/table/keys.ts";
import { compareText, matches, projected, updated, type Item } from "./expressions.ts";

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
const key = z.strictObject({ pk: z.string().min(1), sk: z.string().min(1) });
const placeholders = {
  ExpressionAttributeNames: z.record(z.string(), z.string()).optional(),
  ExpressionAttributeValues: attributes.optional(),
};
const conditional = {
  TableName: z.string(),
  ConditionExpression: z.string().optional(),
  ReturnValuesOnConditionCheckFailure: z.literal("ALL_OLD").optional(),
  ...placeholders,
};
export const put = z
  .strictObject({ Item: attributes, ...conditional })
  .transform(({ Item, ...condition }) => ({
    ...condition,
    Item,
    Key: key.parse({ pk: Item["pk"], sk: Item["sk"] }),
  }));
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
      z.strictObject({
        PutRequest: z.strictObject({ Item: attributes }).optional(),
        DeleteRequest: z.strictObject({ Key: key }).optional(),
      }),
    ),
  ),
});
export const transactGet = z.strictObject({ TransactItems: z.array(z.strictObject({ Get: get })) });
export const transactWrite = z.strictObject({
  TransactItems: z.array(
    z.strictObject({
      Put: put.optional(),
      Delete: ofKey.optional(),
      ConditionCheck: ofKey.optional(),
      Update: update.optional(),
    }),
  ),
});
const page = {
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

export const requireDistinct = (keys: readonly Item[], most: number): void => {
  if (keys.length === 0 || keys.length > most) throw invalid(`A request names 1 to ${most} items.`);
  if (new Set(keys.map(textOfKey)).size < keys.length) throw invalid("A request names an item once.");
};

/** The key of a write, and its condition. */
export const conditionOf = ({ Put, Update, Delete, ConditionCheck }: Write): z.infer<typeof ofKey> => {
  const condition = Put ?? Update ?? Delete ?? ConditionCheck;
  if (condition === undefined) throw invalid("A write names an item.");
  return condition;
};

/** The item after a write; undefined: there is none. */
export const after = ({ Put, Update, Delete }: Write, before: Item | undefined): Item | undefined => {
  if (Put !== undefined) return Put.Item;
  if (Update !== undefined) return updated(before ?? Update.Key, Update.UpdateExpression, Update);
  return Delete === undefined ? before : undefined;
};

const byKey = (a: Item, b: Item): number =>
  compareText(String(a["pk"]), String(b["pk"])) || compareText(String(a["sk"]), String(b["sk"]));

const BYTES_PER_PAGE = 1024 * 1024;

/** One page of these items: by key, after the start key, up to the limits. */
export const pageOf = (items: readonly Item[], input: z.infer<typeof scan>): Item => {
  const { Limit = Infinity, ExclusiveStartKey: start, FilterExpression, IndexName } = input;
  if (IndexName !== undefined && input.ConsistentRead === true)
    throw invalid("Consistent reads are not supported on global secondary indexes");
  const rest = items.toSorted(byKey).filter((item) => start === undefined || byKey(item, start) > 0);
  let bytes = 0;
  const full = rest.findIndex((item) => (bytes += bytesOfItem(item)) >= BYTES_PER_PAGE);
  const scanned = rest.slice(0, Math.min(Limit, full === -1 ? Infinity : full + 1));
  const last = scanned.at(-1);
  const isLastPage = full === -1 && rest.length < Limit;
  const found = scanned.filter((item) => matches(FilterExpression, item, input));
  const keyOf = ({ pk, sk, [TABLE.ownerAttribute]: owner }: Item): Item =>
    IndexName === undefined ? { pk, sk } : { pk, sk, [TABLE.ownerAttribute]: owner };
  return {
    Items: found.map((item) =>
      IndexName === undefined ? projected(item, input.ProjectionExpression, input) : keyOf(item),
    ),
    Count: found.length,
    ScannedCount: scanned.length,
    ...(last !== undefined && !isLastPage && { LastEvaluatedKey: keyOf(last) }),
  };
};
