import { randomBytes, randomInt, randomUUID } from "node:crypto";

/** Payloads of the iOS store, by what they are about. */

type SandboxEnvironment = "Production" | "Sandbox" | "Xcode";

export const PRODUCT_TYPES = [
  "Auto-Renewable Subscription",
  "Non-Renewing Subscription",
  "Non-Consumable",
  "Consumable",
] as const;

/** A field that a payload may lack. */
type Optional<Value> = Value | null | undefined;

/** One in-app purchase. Times are in milliseconds since 1970. */
export interface SandboxTransaction {
  readonly productIdentifier: string;
  readonly type: (typeof PRODUCT_TYPES)[number];
  readonly purchaseDate: number;
  /** When the store signs it. */
  readonly signedDate: number;
  /** Auto-renewable subscriptions only. */
  readonly expiresDate?: Optional<number>;
  /** Absent: a new identifier. */
  readonly transactionIdentifier?: string | undefined;
  /** Absent: the transaction is the first of its lineage. */
  readonly originalTransactionIdentifier?: string | undefined;
  /** Identifies one purchase event under any number of transaction ids; absent: the transaction's own id. */
  readonly event?: string;
  /** Purchase date of the original of a restored copy; absent: the purchase date. */
  readonly originalPurchaseDate?: number;
  /** Absent: one. */
  readonly quantity?: number;
  readonly revocationDate?: Optional<number>;
  /** 1: because of an issue with the app; absent: 0, for any other reason. */
  readonly revocationReason?: 0 | 1 | undefined;
  readonly revocationType?: "REFUND_FULL" | "REFUND_PRORATED" | "FAMILY_REVOKE" | undefined;
  /** Refunded share, in thousandths of a per cent. */
  readonly revocationPercentage?: Optional<number>;
  readonly isUpgraded?: boolean | undefined;
  readonly inAppOwnershipType?: "PURCHASED" | "FAMILY_SHARED" | undefined;
  /** UUID that the app chose for its own account. */
  readonly appAccountToken?: Optional<string>;
  /** Absent: `PURCHASE` of the first of a lineage, `RENEWAL` of others. */
  readonly reason?: "PURCHASE" | "RENEWAL";
}

/** One Apple Account's copy of an app. */
export interface SandboxCustomer {
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
  readonly environment: SandboxEnvironment;
  /** Null: an app transaction from before Apple introduced these identifiers. */
  readonly appTransactionIdentifier: string | null;
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

/**
 * Payload of an app transaction, as StoreKit signs it.
 *
 * @see https://developer.apple.com/documentation/storekit/apptransaction
 */
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

/**
 * Payload of a transaction, as the App Store signs it. A field that is undefined is left out.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
 */
export const transactionPayload = (
  { bundleIdentifier, environment, appTransactionIdentifier }: Omit<SandboxCustomer, "receiptCreationDate">,
  transaction: SandboxTransaction,
) => {
  const transactionId = transaction.transactionIdentifier ?? newIdentifier(environment);
  const originalTransactionId = transaction.originalTransactionIdentifier ?? transactionId;
  const { revocationDate } = transaction;
  return {
    transactionId,
    originalTransactionId,
    ...(transaction.type === "Auto-Renewable Subscription" && {
      webOrderLineItemId: environment === "Xcode" ? "0" : (transaction.event ?? transactionId),
      subscriptionGroupIdentifier: SUBSCRIPTION_GROUP,
      expiresDate: transaction.expiresDate ?? undefined,
      isUpgraded: transaction.isUpgraded ?? false,
    }),
    bundleId: bundleIdentifier,
    productId: transaction.productIdentifier,
    type: transaction.type,
    purchaseDate: transaction.purchaseDate,
    originalPurchaseDate: transaction.originalPurchaseDate ?? transaction.purchaseDate,
    ...(revocationDate != null && {
      revocationDate,
      revocationReason: transaction.revocationReason ?? 0,
    }),
    revocationType: transaction.revocationType,
    revocationPercentage: transaction.revocationPercentage ?? undefined,
    quantity: transaction.quantity ?? 1,
    inAppOwnershipType: transaction.inAppOwnershipType ?? "PURCHASED",
    appAccountToken: transaction.appAccountToken ?? undefined,
    signedDate: transaction.signedDate,
    environment,
    transactionReason:
      transaction.reason ?? (transactionId === originalTransactionId ? "PURCHASE" : "RENEWAL"),
    storefront: "USA",
    storefrontId: "143441",
    price: 4990,
    currency: "USD",
    appTransactionId: appTransactionIdentifier ?? undefined,
    ...deviceVerification(),
  };
};
