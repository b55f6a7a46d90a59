import type { AppTransaction } from "./app-transaction.ts";
import type { Transaction } from "./transaction.ts";

/** First transaction of a request that disagrees with the payloads before it, and the field in which it does. */
export interface Disagreement {
  readonly index: number;
  readonly field: "bundleIdentifier" | "environment" | "appTransactionIdentifier";
}

/**
 * Finds the first transaction that belongs to another app, environment or Apple Account than the payloads before it;
 * null where all agree. Older payloads, without an app transaction id, agree with any.
 */
export const disagreement = (
  appTransaction: AppTransaction,
  transactions: readonly Transaction[],
): Disagreement | null => {
  let account = appTransaction.appTransactionIdentifier;
  for (const [index, transaction] of transactions.entries()) {
    for (const field of ["bundleIdentifier", "environment"] as const)
      if (transaction[field] !== appTransaction[field]) return { index, field };
    account ??= transaction.appTransactionIdentifier;
    if (transaction.appTransactionIdentifier !== null && transaction.appTransactionIdentifier !== account)
      return { index, field: "appTransactionIdentifier" };
  }
  return null;
};
