import { DAY } from "../lib/duration.ts";
import {
  appTransactionPayload,
  newIdentifier,
  transactionPayload,
  type PersonsPurchases,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../sandbox/ios-store/shop/payloads.ts";
import { fingerprintOf, makeXcodeSigner, signJws, type JwsSigner } from "../sandbox/ios-store/signing.ts";

export const PRODUCT = "smoke.monthly";

type SignedPurchases = Pick<PersonsPurchases, "signedAppTransaction" | "signedTransactions">;

export type ThrowAwayStore = ReturnType<typeof createThrowAwayStore>;

/**
 * One buyer in StoreKit testing, as Xcode does it, where nobody pays: a deployed service accepts it only because of its
 * certificate. Its key is nowhere else, so nobody can sign with it later.
 */
export const createThrowAwayStore = (bundleIdentifier: string) => {
  const signer = makeXcodeSigner();
  const now = Date.now();
  const customer: SandboxCustomer = {
    bundleIdentifier,
    appAppleIdentifier: 0,
    environment: "Xcode",
    appTransactionIdentifier: null,
    receiptCreationDate: now,
  };
  const transaction: SandboxTransaction = {
    productIdentifier: PRODUCT,
    type: "Auto-Renewable Subscription",
    transactionIdentifier: newIdentifier("Xcode"),
    purchaseDate: now - DAY,
    expiresDate: now + 29 * DAY,
    signedDate: now,
  };
  const signed = (changes: Partial<SandboxTransaction>, by: JwsSigner = signer): SignedPurchases => ({
    signedAppTransaction: signJws(appTransactionPayload(customer), signer),
    signedTransactions: [signJws(transactionPayload(customer, { ...transaction, ...changes }), by)],
  });
  return {
    /** SHA-256, for the application's `xcodeCertificates`. */
    certificate: fingerprintOf(signer.certificate),
    /** Signed purchases of an app with a running monthly subscription. */
    bought: () => signed({}),
    /** The same, after the purchase was refunded. */
    refunded: () => {
      const at = Date.now();
      const revocation = { at, reason: 0, type: "REFUND_FULL", percentage: 100_000 } as const;
      return signed({ revocation, signedDate: at });
    },
    /** The same, signed with another key under the same certificate. */
    forged: () => signed({}, { x5c: signer.x5c, privateKey: makeXcodeSigner().privateKey }),
  };
};
