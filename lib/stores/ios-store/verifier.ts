import type { Instant } from "../../entitlements/time.ts";
import { appTransactionKind, type AppTransaction } from "./app-transaction.ts";
import { createKnownChains } from "./chain.ts";
import { SIGNATURE_CHECKS, type SignatureChecks } from "./signature.ts";
import { verifySignedPayload, type Signers } from "./signed-payload.ts";
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

/** A verifier with the signers it has come to know. */
export const createIosStoreVerifier = (checks: SignatureChecks = SIGNATURE_CHECKS): IosStoreVerifier => {
  const alone: Signers = {
    chains: createKnownChains(),
    headers: createKnownChains(),
    checkFirst: checks.first,
    check: checks.alone,
  };
  const together: Signers = { ...alone, check: checks.together };
  return {
    verifyAppTransaction: (compact, trust, moment) =>
      verifySignedPayload(compact, appTransactionKind, alone, trust, moment),
    verifyTransaction: (compact, trust, moment) =>
      verifySignedPayload(compact, transactionKind, alone, trust, moment),
    verifyTransactions: async (compacts, trust, moment) => {
      const signers = compacts.length > 1 ? together : alone;
      const verdicts = await Promise.all(
        compacts.map((compact) => verifySignedPayload(compact, transactionKind, signers, trust, moment)),
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
