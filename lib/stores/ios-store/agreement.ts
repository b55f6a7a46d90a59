import type { AppTransaction } from "./app-transaction.ts";
import type { Transaction } from "./transaction.ts";

/** The first transaction of a request that is not of the same app, environment or Apple Account, and how. */
export interface Disagreement {
  readonly index: number;
  readonly field: "bundleIdentifier" | "environment" | "appTransactionIdentifier";
}

/**
 * Finds the payload of a request that belongs to another app, environment or Apple Account than those before it; null
 * where all agree. Payloads from before app transaction ids agree with any.
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
