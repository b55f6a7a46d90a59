import type { Transaction } from "../../../lib/stores/ios-store/payloads.ts";
import { aVerifiedTransaction } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";

/** The verified form of `aTransaction`, with the sandbox store's additional fields. */
export const asSigned = (fields: Partial<Transaction> = {}): Transaction =>
  aVerifiedTransaction({
    subscriptionGroupIdentifier: "21454321",
    webOrderLineItemId: "700000000000002",
    originalPurchaseDate: NOW - 10 * DAY,
    ...fields,
  });

/** A purchase as StoreKit testing in Xcode signs it: every id is "0". */
export const signedInXcode = (productId: string, fields: Partial<Transaction> = {}): Transaction =>
  aVerifiedTransaction({
    environment: "xcode",
    xcodeCertificate: "ab",
    transactionId: "0",
    originalTransactionId: "0",
    productId,
    ...fields,
  });
