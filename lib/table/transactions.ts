import { TransactionCanceledException, TransactionInProgressException } from "@aws-sdk/client-dynamodb";

/** DynamoDB's limit for one transaction. */
export const ITEMS_PER_TRANSACTION = 100;

/** Reasons of a cancelled transaction that a fresh read and another attempt can resolve. */
const CONFLICTS: ReadonlySet<string | undefined> = new Set([
  "ConditionalCheckFailed",
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);
const NO_REASON: ReadonlySet<string | undefined> = new Set(["None", undefined]);

export const isConflict = (error: unknown): boolean =>
  error instanceof TransactionInProgressException ||
  (error instanceof TransactionCanceledException &&
    (error.CancellationReasons ?? []).every(({ Code }) => NO_REASON.has(Code) || CONFLICTS.has(Code)));
