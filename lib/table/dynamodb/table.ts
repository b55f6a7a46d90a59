import { GetCommand, ScanCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { accountDigest } from "../../account-digest.ts";
import { epochSeconds } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { accountId } from "../../identifiers.ts";
import type { Pause } from "../../pause.ts";
import { keys, TABLE, type Key } from "../keys.ts";

export interface Table {
  readonly client: DynamoDBDocumentClient;
  readonly name: string;
  /** Waits before a request is repeated; unset: longer with each attempt. */
  readonly pause?: Pause;
}

export type Item = Record<string, unknown>;

export const keyIn = ({ pk, sk }: Item): Key => ({ pk: String(pk), sk: String(sk) });

/** Keys that end with an account, a purchase or an identity, split before that last part. */
const NAMING =
  /^(APPLICATION#[^#]*#(?:ACCOUNT#|PURCHASE#[^#]*#[^#]*#|IDENTITY#[^#]*#[^#]*#[^#]*#)|\d{4}-[^#]*#)(.+)$/s;

/** A partition or sort key for logs: a last part that identifies somebody is replaced by the start of its SHA-256. */
export const loggedKey = (part: string): string =>
  part.replace(
    NAMING,
    (_, kind: string, value: string) => `${kind}${accountDigest(accountId(value)).slice(0, 12)}…`,
  );

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

/** The attribute by which DynamoDB deletes an item some time after the moment. */
export const expiry = (moment: Instant): Readonly<Record<typeof TABLE.timeToLiveAttribute, number>> => ({
  [TABLE.timeToLiveAttribute]: epochSeconds(moment),
});

const made = new WeakMap<() => z.ZodMiniType, z.ZodMiniType>();

/** A schema made on first use and kept: making one takes longer than parsing with it. */
const schemaOf = <Schema extends z.ZodMiniType>(make: () => Schema): Schema => {
  const schema = (made.get(make) as Schema | undefined) ?? make();
  made.set(make, schema);
  return schema;
};

/** @throws MalformedItemError */
export const parseItem = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  item: Item,
): z.output<Schema> => {
  const parsed = schemaOf(schema).safeParse(item);
  if (!parsed.success) {
    const paths = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new MalformedItemError(item, new Error(`at ${paths}`));
  }
  return parsed.data;
};

/** @throws MalformedItemError */
export const parseItems = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  items: readonly Item[] = [],
): z.output<Schema>[] => items.map((item) => parseItem(schema, item));

/** Items that match a schema. Others, perhaps of a later version, are ignored. */
export const knownItems = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  items: readonly Item[],
): z.output<Schema>[] =>
  items.flatMap((item) => {
    const parsed = schemaOf(schema).safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });

/**
 * Format of all items. A version reads what the next one writes: unknown items of a partition are ignored, unknown
 * attributes survive a rewrite, and lists of positions grow only at their end. Only a change that breaks this gets a
 * new number.
 */
export const TABLE_FORMAT = 3;

/** The table has a format that this version cannot read. */
export class TableFormatError extends Error {
  constructor(table: string, format: unknown) {
    super(
      format === undefined
        ? `The table ${table} has an older format that cannot be migrated: start with a new table (locally: another --data folder).`
        : `The table ${table} is of format ${JSON.stringify(format)}; this version reads only format ${TABLE_FORMAT}.`,
    );
    this.name = "TableFormatError";
  }
}

/** An item that names the format of the items beside it. */
export const markedItem = () => z.object({ tableFormat: z.optional(z.unknown()) });

/** @throws TableFormatError if an item names another format, or none */
export const requireFormatOf = ({ name }: Pick<Table, "name">, item: Item): void => {
  const { tableFormat } = parseItem(markedItem, item);
  if (tableFormat !== TABLE_FORMAT) throw new TableFormatError(name, tableFormat);
};

/** @throws TableFormatError if the table has another format, or items and no format */
export const requireTableFormat = async (table: Table): Promise<void> => {
  const { client, name: TableName } = table;
  const { Item } = await client.send(new GetCommand({ TableName, Key: keys.format(), ConsistentRead: true }));
  if (Item !== undefined) return requireFormatOf(table, Item);
  const { Items = [] } = await client.send(new ScanCommand({ TableName, Limit: 1, ConsistentRead: true }));
  if (Items.length > 0) throw new TableFormatError(TableName, undefined);
};
