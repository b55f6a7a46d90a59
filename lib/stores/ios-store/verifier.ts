import { MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { appTransactionKind, type AppTransaction } from "./app-transaction.ts";
import { createKnownChains } from "./signatures/chain.ts";
import {
  notificationKind,
  partsAgree,
  type Notification,
  type NotificationPart,
  type NotificationParts,
} from "./notification.ts";
import { renewalInfoKind, type RenewalInfo } from "./renewal-info.ts";
import { checkSignature, type SignatureCheck } from "./signatures/jws.ts";
import {
  isKnownSigner,
  verifySignedPayload,
  type PayloadKind,
  type Signed,
  type Signers,
} from "./signatures/signed-payload.ts";
import { transactionKind, type Transaction } from "./transaction.ts";
import type { Trust } from "./signatures/trust.ts";
import {
  isNotUnderstood,
  rejected,
  verified,
  type Rejected,
  type Verdict,
  type Verified,
} from "./signatures/verdict.ts";

/** Verifies what the App Store signs. `moment` is now: a later signing time is refused. */
export interface IosStoreVerifier {
  verifyAppTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<AppTransaction>>;
  verifyTransaction(compact: string, trust: Trust, moment: Instant): Promise<Verdict<Transaction>>;
  verifyTransactions: VerifyAll<Transaction>;
  verifyRenewalInfos: VerifyAll<RenewalInfo>;
  /** Verifies the envelope alone. Xcode sends no notifications, so its certificates are not trusted here. */
  verifyNotification(compact: string, trust: Trust, moment: Instant): Promise<Verdict<Notification>>;
  /** Verifies the payloads in a verified notification, and that all agree. One in an unknown form rejects no other. */
  verifyNotificationParts(
    notification: Notification,
    trust: Trust,
    moment: Instant,
  ): Promise<Verdict<NotificationParts>>;
}

/**
 * All payloads in order, or the first refused one with its index. JWS of known signers are verified in parallel; after
 * a refusal, later ones may stay unverified.
 */
export type VerifyAll<Payload> = (
  compacts: readonly string[],
  trust: Trust,
  moment: Instant,
) => Promise<Verified<readonly Payload[]> | (Rejected & { readonly index: number })>;

/**
 * JWS of a request that are verified concurrently. A refused one wastes at most this many signature checks. 1,000 valid
 * ones take 8 % longer than without a limit, and 25 % longer with 32.
 */
export const AT_ONCE = 128;

/** Further ahead than a request, five minutes in all: the App Store may never send a refused notification again. */
const SIGNED_AHEAD = 4 * MINUTE;

const withoutXcode = ({ roots }: Trust): Trust => ({ roots, xcodeCertificates: new Set() });

export const createIosStoreVerifier = (check: SignatureCheck = checkSignature): IosStoreVerifier => {
  const alone: Signers = { chains: createKnownChains(), headers: createKnownChains(), check, kind: "alone" };
  const together: Signers = { ...alone, kind: "together" };
  const verifyAll =
    <Payload>(kind: PayloadKind<Payload>): VerifyAll<Payload & Signed> =>
    async (compacts, trust, moment) => {
      const signers = compacts.length > 1 ? together : alone;
      const verdicts: Promise<Verdict<Payload & Signed>>[] = [];
      for (const [index, compact] of compacts.entries()) {
        // A new signer's certificates are checked on this thread: nothing else starts before that is done.
        const last = isKnownSigner(compact, signers, trust) ? index + 1 - AT_ONCE : index;
        const verdict = verifySignedPayload(compact, kind, signers, trust, moment);
        // Handled by the awaits below; until then it would be unhandled, and end the process.
        verdict.catch(() => undefined);
        verdicts.push(verdict);
        if ((await verdicts[last])?.outcome === "rejected") break;
      }
      const payloads: (Payload & Signed)[] = [];
      for (const [index, verdict] of (await Promise.all(verdicts)).entries()) {
        if (verdict.outcome === "rejected") return { ...verdict, index };
        payloads.push(verdict.payload);
      }
      return verified(payloads);
    };
  return {
    verifyAppTransaction: (compact, trust, moment) =>
      verifySignedPayload(compact, appTransactionKind, alone, trust, moment),
    verifyTransaction: (compact, trust, moment) =>
      verifySignedPayload(compact, transactionKind, alone, trust, moment),
    verifyTransactions: verifyAll(transactionKind),
    verifyRenewalInfos: verifyAll(renewalInfoKind),
    verifyNotification: (compact, trust, moment) =>
      verifySignedPayload(compact, notificationKind, alone, withoutXcode(trust), moment + SIGNED_AHEAD),
    verifyNotificationParts: async (notification, given, moment) => {
      const [trust, latest] = [withoutXcode(given), moment + SIGNED_AHEAD];
      const notUnderstood: NotificationPart[] = [];
      const partOf = async <Payload>(
        part: NotificationPart,
        compact: string | null,
        kind: PayloadKind<Payload>,
      ): Promise<Verdict<(Payload & Signed) | null>> => {
        if (compact === null) return verified(null);
        const verdict = await verifySignedPayload(compact, kind, alone, trust, latest);
        if (verdict.outcome === "verified" || !isNotUnderstood(verdict.reason)) return verdict;
        notUnderstood.push(part);
        return verified(null);
      };
      const transaction = await partOf("transaction", notification.signedTransaction, transactionKind);
      if (transaction.outcome === "rejected") return transaction;
      const renewalInfo = await partOf("renewal info", notification.signedRenewalInfo, renewalInfoKind);
      if (renewalInfo.outcome === "rejected") return renewalInfo;
      const app = await partOf("app transaction", notification.signedAppTransaction, appTransactionKind);
      if (app.outcome === "rejected") return app;
      const parts: NotificationParts = {
        transaction: transaction.payload,
        renewalInfo: renewalInfo.payload,
        appTransaction: app.payload,
        notUnderstood,
      };
      return partsAgree(notification, parts) ? verified(parts) : rejected("disagreement");
    },
  };
};
