import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Account, Lineage } from "./lineage.ts";

type SandboxEnvironment = Account["environment"] | "Xcode";

/** One in-app purchase. Times are in milliseconds since 1970. */
export interface SandboxTransaction {
  readonly productIdentifier: string;
  readonly type: Lineage["type"];
  readonly purchaseDate: number;
  readonly signedDate: number;
  /** Auto-renewable subscriptions only. */
  readonly expiresDate?: number | null | undefined;
  /** Unset: a new identifier. */
  readonly transactionIdentifier?: string | undefined;
  /** Unset: the transaction is the first of its lineage. */
  readonly originalTransactionIdentifier?: string | undefined;
  readonly revocationDate?: number | undefined;
}

/** One Apple Account's copy of an app. */
export interface SandboxCustomer extends Omit<Account, "environment" | "applicationAccountIdentifier"> {
  readonly environment: SandboxEnvironment;
  /** When the app transaction is signed; milliseconds since 1970. */
  readonly receiptCreationDate: number;
}

const ID_DIGITS = 15;

/** A long identifier like the store's: its first digits tell production from sandbox. */
export const newIdentifier = (environment: SandboxEnvironment): string => {
  const digits = Array.from({ length: ID_DIGITS - 1 }, () => randomInt(10)).join("");
  return environment === "Production" ? `7${digits}` : `20${digits}`;
};

/** Group of all subscriptions. */
export const SUBSCRIPTION_GROUP = "21454321";

/** By what the device proves that a payload is its own. Payloads that the store sends itself have none. */
export const deviceVerification = () => ({
  deviceVerification: randomBytes(48).toString("base64"),
  deviceVerificationNonce: randomUUID(),
});

/** @see https://developer.apple.com/documentation/storekit/apptransaction */
export const appTransactionPayload = ({
  bundleIdentifier,
  appAppleIdentifier,
  environment,
  appTransactionIdentifier,
  receiptCreationDate,
}: SandboxCustomer) => ({
  receiptType: environment,
  ...(environment === "Production" && {
    appAppleId: appAppleIdentifier,
    versionExternalIdentifier: 871_234_567,
  }),
  bundleId: bundleIdentifier,
  applicationVersion: "1",
  originalApplicationVersion: "1",
  receiptCreationDate,
  requestDate: receiptCreationDate,
  originalPurchaseDate: Math.min(receiptCreationDate, Date.UTC(2024, 0, 15)),
  originalPlatform: "iOS",
  ...(appTransactionIdentifier !== null && { appTransactionId: appTransactionIdentifier }),
  ...deviceVerification(),
});

/** @see https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload */
export const transactionPayload = (
  { bundleIdentifier, environment, appTransactionIdentifier }: Omit<SandboxCustomer, "receiptCreationDate">,
  transaction: SandboxTransaction,
) => {
  const transactionId = transaction.transactionIdentifier ?? newIdentifier(environment);
  const originalTransactionId = transaction.originalTransactionIdentifier ?? transactionId;
  const { purchaseDate, expiresDate, revocationDate } = transaction;
  return {
    transactionId,
    originalTransactionId,
    ...(transaction.type === "Auto-Renewable Subscription" && {
      webOrderLineItemId: environment === "Xcode" ? "0" : transactionId,
      subscriptionGroupIdentifier: SUBSCRIPTION_GROUP,
      expiresDate: expiresDate ?? undefined,
      isUpgraded: false,
    }),
    bundleId: bundleIdentifier,
    productId: transaction.productIdentifier,
    type: transaction.type,
    purchaseDate,
    originalPurchaseDate: purchaseDate,
    ...(revocationDate !== undefined && { revocationDate, revocationReason: 0 }),
    quantity: 1,
    inAppOwnershipType: "PURCHASED",
    signedDate: transaction.signedDate,
    environment,
    transactionReason: transactionId === originalTransactionId ? "PURCHASE" : "RENEWAL",
    storefront: "USA",
    storefrontId: "143441",
    price: 4990,
    currency: "USD",
    appTransactionId: appTransactionIdentifier ?? undefined,
    ...deviceVerification(),
  };
};
