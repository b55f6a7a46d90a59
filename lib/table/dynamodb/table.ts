import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";
import { epochSeconds } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { Pause } from "../../pause.ts";
import { TABLE, type Key } from "./key.ts";
import { accountDigest } from "../../account-digest.ts";
import { accountId } from "../../identifiers.ts";

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

/** @throws MalformedItemError */
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
