import type { Instant } from "../../entitlements/time.ts";
import { appTransactionKind, type AppTransaction } from "./app-transaction.ts";
import { createKnownChains } from "./chain.ts";
import { SIGNATURE_CHECKS, type SignatureChecks } from "./signature.ts";
import { isKnownSigner, verifySignedPayload, type Signers } from "./signed-payload.ts";
import { transactionKind, type Transaction } from "./transaction.ts";
import type { Trust } from "./trust.ts";
import { verified, type Rejected, type Verdict, type Verified } from "./verdict.ts";

/** Verifies what the App Store signs. `moment` is now: what is signed later is refused. */
export interface IosStoreVerifier {
  verifyAppTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<AppTransaction>>;
  verifyTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<Transaction>>;
  /**
   * All of them, in their order; or the first that is refused, and where it is: then those far behind it are not looked
   * at. Those of known signers are verified side by side.
   */
  verifyTransactions(
    compacts: readonly string[],
    trust: Trust,
    moment: Instant,
  ): Promise<Verified<readonly Transaction[]> | (Rejected & { readonly index: number })>;
}

/**
 * JWS of a request that are verified at once. A refused one costs at most so many signature checks; 1,000 good ones take
 * 8 % longer than begun all at once, and 25 % with 32.
 */
export const AT_ONCE = 128;

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
      const verdicts: Promise<Verdict<Transaction>>[] = [];
      for (const [index, compact] of compacts.entries()) {
        // A new signer costs signatures of certificates, on this thread: nothing else begins before they are verified.
        const last = isKnownSigner(compact, signers, trust) ? index + 1 - AT_ONCE : index;
        const verdict = verifySignedPayload(compact, transactionKind, signers, trust, moment);
        // A check that throws is heard of below; until then nobody listens, which would end the process.
        verdict.catch(() => undefined);
        verdicts.push(verdict);
        if ((await verdicts[last])?.outcome === "rejected") break;
      }
      const transactions: Transaction[] = [];
      for (const [index, verdict] of (await Promise.all(verdicts)).entries()) {
        if (verdict.outcome === "rejected") return { ...verdict, index };
        transactions.push(verdict.payload);
      }
      return verified(transactions);
    },
  };
};
