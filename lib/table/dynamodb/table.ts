import { GetCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";
import type { Key, TABLE } from "./key.ts";
import type { Pause } from "../../pause.ts";
import { loggedKey } from "../logged-key.ts";

export interface Table {
  readonly client: DynamoDBDocumentClient;
  readonly name: string;
  /** Waits before a request is repeated; unset: longer with each attempt. */
  readonly pause?: Pause;
}

export type Item = Record<string, unknown>;

export const keyIn = ({ pk, sk }: Item): Key => ({ pk: String(pk), sk: String(sk) });

/** Reads one item, strongly consistent; undefined: there is none. */
export const readItem = async ({ client, name }: Table, key: Key): Promise<Item | undefined> => {
  const { Item } = await client.send(
    new GetCommand({ TableName: name, Key: { ...key }, ConsistentRead: true }),
  );
  return Item;
};

const sentenceAbout = (key: unknown): string => `The item ${JSON.stringify(key)} does not match its schema.`;

/** An item does not match its schema. The message names its key with {@link loggedKey}, never its content. */
export class MalformedItemError extends Error {
  readonly #key: readonly unknown[];

  constructor({ pk, sk }: Item, cause: unknown) {
    super(sentenceAbout([loggedKey(String(pk)), loggedKey(String(sk))]), { cause });
    this.name = "MalformedItemError";
    this.#key = [pk, sk];
  }

  /** The message with the whole key, for an operator. */
  toSentence(): string {
    return sentenceAbout(this.#key);
  }
}

type ReadonlyList<Value> = Value extends (infer Member)[] ? readonly Member[] : Value;
type Written<Value> = { readonly [Name in keyof Value]: ReadonlyList<Value[Name]> };

/** Attributes of an item to write, in the shape of the schema that reads them. */
export type Attributes<Schema extends () => z.ZodMiniType> = Written<z.input<ReturnType<Schema>>>;

/** When DynamoDB may delete an item, in seconds since 1970. */
export type TimeToLive = Readonly<Record<typeof TABLE.timeToLiveAttribute, number>>;

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
