import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { Table } from "./table.ts";
import type { TransactItem } from "./writes.ts";

/** DynamoDB's limit for one transaction. */
export const ITEMS_PER_TRANSACTION = 100;

const CONDITION_FAILED = "ConditionalCheckFailed";

/** Cancellation reasons that a fresh read and a retry can resolve. */
const CONFLICTS: ReadonlySet<string | undefined> = new Set([
  CONDITION_FAILED,
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);
const NO_REASON: ReadonlySet<string | undefined> = new Set(["None", undefined]);

/**
 * Whether a transaction, of writes or reads, was cancelled for one of {@link CONFLICTS}, or is still in progress.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
 */
export const isConflict = (error: unknown): error is Error =>
  error instanceof TransactionInProgressException ||
  (error instanceof TransactionCanceledException &&
    (error.CancellationReasons ?? []).every(({ Code }) => NO_REASON.has(Code) || CONFLICTS.has(Code)));

/**
 * Sends a conditional write of one item.
 *
 * @param otherwise gives the answer where the condition does not hold
 */
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
 * Sends a conditional write of one item that a concurrent write makes needless.
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
export type TransactionOutcome =
  | { readonly outcome: "written" }
  | {
      readonly outcome: "conflict";
      /** Indexes of the items whose conditions failed; empty if another transaction was working on them. */
      readonly failed: ReadonlySet<number>;
      readonly cause: Error;
    };

/** Writes up to 100 items, all or none. Rejects on any failure but a conflict. */
export const transact = async (
  { client }: Table,
  items: readonly TransactItem[],
): Promise<TransactionOutcome> => {
  try {
    await client.send(new TransactWriteCommand({ TransactItems: [...items] }));
    return { outcome: "written" };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
    const failed = reasons.flatMap(({ Code }, place) => (Code === CONDITION_FAILED ? [place] : []));
    return { outcome: "conflict", failed: new Set(failed), cause: error };
  }
};
