import { makeChain, makeXcodeSigner } from "../../../../sandbox/ios-store/signing.ts";
import {
  PRODUCT_TYPES,
  signPurchases,
  type SandboxCustomer,
} from "../../../../sandbox/ios-store/shop/app-store.ts";
import { disagreement } from "../../../../lib/stores/ios-store/agreement.ts";
import { purchasesOf } from "../../../../lib/stores/ios-store/purchases.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { APPLE_ID, BUNDLE, trusting } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";

const chain = makeChain();
const xcode = makeXcodeSigner();
const trust = trusting({ roots: [chain.root], xcodeCertificates: [xcode.certificate] });

describe("the sandbox store", () => {
  test.each([
    ["Production", chain],
    ["Sandbox", chain],
    ["Xcode", xcode],
  ] as const)("signs payloads that the verifier accepts, for %s", async (environment, signer) => {
    const customer: SandboxCustomer = {
      bundleIdentifier: BUNDLE,
      appAppleIdentifier: APPLE_ID,
      environment,
      appTransactionIdentifier: "704",
      receiptCreationDate: NOW,
      transactions: PRODUCT_TYPES.map((type) => ({
        productIdentifier: `com.example.trails.${type.length}`,
        type,
        purchaseDate: NOW - DAY,
        signedDate: NOW,
        ...(type === "Auto-Renewable Subscription" && { expiresDate: NOW + DAY }),
      })),
    };
    const signed = signPurchases(customer, signer);
    const verifier = createIosStoreVerifier();
    const appTransaction = await verifier.verifyAppTransaction(signed.signedAppTransaction, trust, NOW);
    const transactions = await verifier.verifyTransactions(signed.signedTransactions, trust, NOW);
    expect([appTransaction.outcome, transactions.outcome]).toEqual(["verified", "verified"]);
    if (appTransaction.outcome === "rejected" || transactions.outcome === "rejected") return;
    expect(disagreement(appTransaction.payload, transactions.payload)).toBeNull();
    expect(purchasesOf(transactions.payload)).toHaveLength(PRODUCT_TYPES.length);
    expect(appTransaction.payload.appAppleIdentifier).toBe(environment === "Production" ? APPLE_ID : null);
  });
});
