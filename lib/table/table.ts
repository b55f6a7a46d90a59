import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";

export interface Table {
  readonly client: DynamoDBDocumentClient;
  readonly name: string;
}

export type Item = Record<string, unknown>;

/** An item does not match its schema. The message names its key, never its content. */
export class MalformedItemError extends Error {
  constructor(item: Item, cause: unknown) {
    super(`The item ${JSON.stringify([item["pk"], item["sk"]])} is not of its shape.`, { cause });
    this.name = "MalformedItemError";
  }
}

type ReadonlyList<Value> = Value extends (infer Member)[] ? readonly Member[] : Value;
type Written<Value> = { readonly [Name in keyof Value]: ReadonlyList<Value[Name]> };

/** Attributes of an item as they are written: in the shape that reads them. */
export type Attributes<Schema extends () => z.ZodMiniType> = Written<z.input<ReturnType<Schema>>>;

/**
 * Items are parsed, never cast.
 *
 * @throws MalformedItemError
 */
export const parseItem = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  item: Item,
): z.output<Schema> => {
  const parsed = schema().safeParse(item);
  if (!parsed.success) {
    const paths = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new MalformedItemError(item, new Error(`at ${paths}`));
  }
  return parsed.data;
};

/** Items that match a schema. Others, perhaps of a later version, are ignored. */
export const knownItems = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  items: readonly Item[] = [],
): z.output<Schema>[] =>
  items.flatMap((item) => {
    const parsed = schema().safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });

/** @throws MalformedItemError */
export const parseItems = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  items: readonly Item[] = [],
): z.output<Schema>[] => items.map((item) => parseItem(schema, item));
