import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import {
  BatchWriteCommand,
  DeleteCommand,
  PutCommand,
  TransactWriteCommand,
  UpdateCommand,
  type BatchWriteCommandInput,
  type TransactWriteCommandInput,
} from "@aws-sdk/lib-dynamodb";
import { chunks } from "../../chunks.ts";
import { again, pause as briefly } from "../../pause.ts";
import type { Condition } from "./conditions.ts";
import type { Key } from "../keys.ts";
import type { Table } from "./table.ts";

type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** A write or condition check of one item. The table's name is added where it is sent. */
export type Write = {
  readonly [Kind in keyof TransactItem]: Omit<NonNullable<TransactItem[Kind]>, "TableName">;
};

/** Replaces the whole item. */
export const put = (key: Key, attributes: object, condition?: Condition) => ({
  Put: { Item: { ...key, ...attributes }, ...condition },
});

/** Attributes that an update changes beside those that it sets. */
interface Further {
  /** Added to numeric attributes; a missing one counts as 0. */
  readonly add?: Readonly<Record<string, number>>;
  /** Set only where the item has none. */
  readonly initially?: Readonly<Record<string, unknown>>;
}

/** Sets these attributes, removes undefined ones, and keeps all others: a later version may have written them. */
export const update = (
  key: Key,
  attributes: object,
  condition?: Condition,
  { add = {}, initially = {} }: Further = {},
) => {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const phrases = (of: object, phrase: (name: string, value: string) => string): readonly string[] =>
    Object.entries(of).map(([name, value]: [string, unknown]) => {
      const place = Object.keys(names).length;
      names[`#a${place}`] = name;
      if (value !== undefined) values[`:a${place}`] = value;
      return phrase(`#a${place}`, `:a${place}`);
    });
  const given = Map.groupBy(Object.entries(attributes), ([, value]) => value === undefined);
  const clauses = {
    SET: [
      ...phrases(Object.fromEntries(given.get(false) ?? []), (name, value) => `${name} = ${value}`),
      ...phrases(initially, (name, value) => `${name} = if_not_exists(${name}, ${value})`),
    ],
    REMOVE: phrases(Object.fromEntries(given.get(true) ?? []), (name) => name),
    ADD: phrases(add, (name, value) => `${name} ${value}`),
  };
  return {
    Update: {
      Key: { ...key },
      ...condition,
      UpdateExpression: Object.entries(clauses)
        .filter(([, changes]) => changes.length > 0)
        .map(([clause, changes]) => `${clause} ${changes.join(", ")}`)
        .join(" "),
      ExpressionAttributeNames: { ...names, ...condition?.ExpressionAttributeNames },
      ExpressionAttributeValues: { ...values, ...condition?.ExpressionAttributeValues },
    },
  };
};

export const deletion = (key: Key, condition?: Condition) => ({ Delete: { Key: { ...key }, ...condition } });

/** Writes nothing; the transaction fails unless the condition holds. */
export const check = (key: Key, condition: Condition) => ({
  ConditionCheck: { Key: { ...key }, ...condition },
});

/** DynamoDB's limit for one transaction. */
export const ITEMS_PER_TRANSACTION = 100;
/** Below DynamoDB's limit of 4 MB: sizes are estimated by JSON. */
export const BYTES_PER_TRANSACTION = 3_000_000;

const CONDITION_FAILED = "ConditionalCheckFailed";

/** Cancellation reasons that a fresh read and a retry can resolve, and those of items that are not the reason. */
const CONFLICTS: ReadonlySet<string | undefined> = new Set([
  undefined,
  "None",
  CONDITION_FAILED,
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);

/**
 * Whether a transaction, of writes or reads, was cancelled for one of {@link CONFLICTS}, or is still in progress.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
 */
export const isConflict = (error: unknown): error is Error =>
  error instanceof TransactionInProgressException ||
  (error instanceof TransactionCanceledException &&
    (error.CancellationReasons ?? []).every(({ Code }) => CONFLICTS.has(Code)));

type Single = ReturnType<typeof put> | ReturnType<typeof update> | ReturnType<typeof deletion>;

/** Sends a write by itself, outside a transaction. */
export const write = async ({ client, name: TableName }: Table, one: Single): Promise<void> => {
  if ("Put" in one) await client.send(new PutCommand({ TableName, ...one.Put }));
  else if ("Update" in one) await client.send(new UpdateCommand({ TableName, ...one.Update }));
  else await client.send(new DeleteCommand({ TableName, ...one.Delete }));
};

/** @param otherwise gives the answer where the write's condition does not hold */
export const ifConditionHolds = async <Answer, Other>(
  write: () => Promise<Answer>,
  otherwise: (refused: ConditionalCheckFailedException) => Other,
): Promise<Answer | Other> => {
  try {
    return await write();
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise(error);
    throw error;
  }
};

/**
 * For a write of one item that a concurrent write makes needless.
 *
 * @returns null: the condition does not hold, or a transaction is writing the item
 */
export const unlessChanged = async <Answer>(write: () => Promise<Answer>): Promise<Answer | null> => {
  try {
    return await ifConditionHolds(write, () => null);
  } catch (error) {
    if (error instanceof TransactionConflictException) return null;
    throw error;
  }
};

/** `conflict`: nothing was written, because of a concurrent write or throttling. */
type TransactionOutcome =
  | { readonly outcome: "written" }
  | {
      readonly outcome: "conflict";
      /** Indexes of the items whose conditions failed; empty if another transaction was working on them. */
      readonly failed: ReadonlySet<number>;
      readonly cause: Error;
    };

const inTable = (TableName: string, write: Write): TransactItem =>
  Object.fromEntries(Object.entries(write).map(([kind, one]) => [kind, { TableName, ...one }]));

/** Writes up to 100 items, all or none. Rejects on any failure but a conflict. */
export const transact = async (
  { client, name }: Table,
  writes: readonly Write[],
): Promise<TransactionOutcome> => {
  try {
    const TransactItems = writes.map((write) => inTable(name, write));
    await client.send(new TransactWriteCommand({ TransactItems }));
    return { outcome: "written" };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
    const failed = reasons.flatMap(({ Code }, place) => (Code === CONDITION_FAILED ? [place] : []));
    return { outcome: "conflict", failed: new Set(failed), cause: error };
  }
};

type Request = NonNullable<BatchWriteCommandInput["RequestItems"]>[string][number];

/**
 * Sends a batch, and again what DynamoDB leaves unprocessed of it, with pauses.
 *
 * @param send answers what is left
 */
export const untilProcessed = async <Request>(
  { pause = briefly }: Table,
  attempts: number,
  batch: Request[],
  send: (wanted: Request[]) => Promise<Request[] | undefined>,
): Promise<void> => {
  let wanted = batch;
  const attempt = async (): Promise<"all" | "conflict"> => {
    wanted = (await send(wanted)) ?? [];
    return wanted.length === 0 ? "all" : "conflict";
  };
  await again(attempts, pause, attempt, "DynamoDB repeatedly left parts of a batch unprocessed.");
};

/** DynamoDB's limit for one batch. */
const ITEMS_PER_BATCH = 25;
const BATCH_ATTEMPTS = 12;
const BATCHES_AT_ONCE = 4;

/** Writes items without conditions, each by itself. Those that DynamoDB leaves unprocessed are sent again. */
export const writeAll = async (
  table: Table,
  writes: readonly (ReturnType<typeof put> | ReturnType<typeof deletion>)[],
): Promise<void> => {
  const requests = writes.map((one): Request =>
    "Put" in one ? { PutRequest: { Item: one.Put.Item } } : { DeleteRequest: { Key: one.Delete.Key } },
  );
  const { client, name } = table;
  const writeBatch = (batch: Request[]) =>
    untilProcessed(table, BATCH_ATTEMPTS, batch, async (wanted) => {
      const command = new BatchWriteCommand({ RequestItems: { [name]: wanted } });
      return (await client.send(command)).UnprocessedItems?.[name];
    });
  for (const some of chunks(requests, ITEMS_PER_BATCH * BATCHES_AT_ONCE))
    await Promise.all(chunks(some, ITEMS_PER_BATCH).map(writeBatch));
};

export const deleteAll = (table: Table, wanted: readonly Key[]): Promise<void> =>
  writeAll(
    table,
    wanted.map((key) => deletion(key)),
  );
