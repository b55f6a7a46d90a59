import { joinAll, type Line, type Purchase } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey } from "../../identifiers.ts";
import type { Transaction } from "./transaction.ts";

/** Only auto-renewable subscriptions have an end of their own. An upgrade ended a transaction before it was signed. */
const endOf = ({ nature, expiresAt, isUpgraded, signedAt }: Transaction): Instant | null => {
  const natural = nature === "auto_renewable" ? expiresAt : null;
  return isUpgraded ? Math.min(natural ?? Infinity, signedAt) : natural;
};

const lineOf = (transaction: Transaction): Line => ({
  transactionIdentifier: transaction.transactionIdentifier,
  productIdentifier: transaction.productIdentifier,
  basePlanIdentifier: null,
  nature: transaction.nature,
  standing: transaction.isUpgraded ? "expired" : "entitled",
  startsAt: transaction.purchasedAt,
  endsAt: endOf(transaction),
  revokedAt: transaction.revokedAt,
  willRenew: null,
  verifiedAt: transaction.signedAt,
});

/** The purchases that verified transactions prove: one for each lineage, in order of reference. */
export const purchasesOf = (transactions: readonly Transaction[]): Purchase[] =>
  joinAll(
    transactions.map((transaction) => ({
      store: "ios-store",
      environment: transaction.environment,
      key: purchaseKey(transaction.originalTransactionIdentifier),
      lines: [lineOf(transaction)],
      selectedProducts: null,
      replacedBy: null,
      verifiedAt: transaction.signedAt,
    })),
  );
