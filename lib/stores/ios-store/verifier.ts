import type { Instant } from "../../entitlements/time.ts";
import { appTransactionKind, type AppTransaction } from "./app-transaction.ts";
import { createChainCache, type ChainCache } from "./chain.ts";
import { verifySignedPayload } from "./signed-payload.ts";
import { transactionKind, type Transaction } from "./transaction.ts";
import type { Trust } from "./trust.ts";
import { verified, type Rejected, type Verdict, type Verified } from "./verdict.ts";

/** Verifies what the App Store signs. `moment` is now: what is signed later is refused. */
export interface IosStoreVerifier {
  verifyAppTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<AppTransaction>>;
  verifyTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<Transaction>>;
  /** All of them, side by side and in their order; or the first that is refused, and where it is. */
  verifyTransactions(
    compacts: readonly string[],
    trust: Trust,
    moment: Instant,
  ): Promise<Verified<readonly Transaction[]> | (Rejected & { readonly index: number })>;
}

/** A verifier with the chains it has come to know. */
export const createIosStoreVerifier = (chains: ChainCache = createChainCache()): IosStoreVerifier => {
  const verifyTransaction: IosStoreVerifier["verifyTransaction"] = (compact, trust, moment) =>
    verifySignedPayload(compact, transactionKind, chains, trust, moment);
  return {
    verifyAppTransaction: (compact, trust, moment) =>
      verifySignedPayload(compact, appTransactionKind, chains, trust, moment),
    verifyTransaction,
    verifyTransactions: async (compacts, trust, moment) => {
      const verdicts = await Promise.all(
        compacts.map((compact) => verifyTransaction(compact, trust, moment)),
      );
      const transactions: Transaction[] = [];
      for (const [index, verdict] of verdicts.entries()) {
        if (verdict.outcome === "rejected") return { ...verdict, index };
        transactions.push(verdict.payload);
      }
      return verified(transactions);
    },
  };
};
