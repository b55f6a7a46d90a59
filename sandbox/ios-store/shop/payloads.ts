import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { Integer, type BaseBlock, type Sequence } from "asn1js";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { der, octets, oid, sequence, setOf, tagged, utf8 } from "../certificates.ts";
import { signJws, type JwsSigner } from "../signing.ts";
import {
  endOf,
  INTENTS,
  latestOf,
  type Account,
  type Lineage,
  type SoldTransaction,
  type Subscription,
} from "./lineage.ts";

type SandboxEnvironment = Account["environment"] | "Xcode";

/** One in-app purchase, by default a person's own first one. Times are in milliseconds since 1970. */
export interface SandboxTransaction
  extends
    Partial<Pick<Lineage, "originalPurchaseDate" | "quantity" | "appAccountToken" | "sharedFrom">>,
    Partial<Pick<SoldTransaction, "event" | "reason" | "isUpgraded" | "revocation">> {
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

export const SUBSCRIPTION_GROUP = "21454321";

/** By what the device proves that a payload is its own. Payloads that the store sends itself have none. */
const deviceVerification = () => ({
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
  const {
    type,
    purchaseDate,
    expiresDate,
    revocation = null,
    event = environment === "Xcode" ? "0" : transactionId,
    reason = transactionId === originalTransactionId ? "PURCHASE" : "RENEWAL",
  } = transaction;
  return {
    transactionId,
    originalTransactionId,
    ...(type === "Auto-Renewable Subscription" && {
      webOrderLineItemId: event,
      subscriptionGroupIdentifier: SUBSCRIPTION_GROUP,
      expiresDate: expiresDate ?? undefined,
      isUpgraded: transaction.isUpgraded ?? false,
    }),
    bundleId: bundleIdentifier,
    productId: transaction.productIdentifier,
    type,
    purchaseDate,
    originalPurchaseDate: transaction.originalPurchaseDate ?? purchaseDate,
    ...(revocation !== null && {
      revocationDate: revocation.at,
      revocationReason: revocation.reason,
      revocationType: revocation.type,
      revocationPercentage: revocation.percentage ?? undefined,
    }),
    quantity: transaction.quantity ?? 1,
    inAppOwnershipType: transaction.sharedFrom == null ? "PURCHASED" : "FAMILY_SHARED",
    appAccountToken: transaction.appAccountToken ?? undefined,
    signedDate: transaction.signedDate,
    environment,
    transactionReason: reason,
    storefront: "USA",
    storefrontId: "143441",
    price: 4990,
    currency: "USD",
    appTransactionId: appTransactionIdentifier ?? undefined,
    ...deviceVerification(),
  };
};

const SIGNED_DATA = "1.2.840.113549.1.7.2";
const DATA = "1.2.840.113549.1.7.1";

const receiptAttribute = (type: number, value: BaseBlock): Sequence =>
  sequence(new Integer({ value: type }), new Integer({ value: 1 }), octets(der(value)));
const textAttribute = (type: number, value: string): Sequence => receiptAttribute(type, utf8(value));

/** Types of a receipt's attributes. */
const RECEIPT = {
  bundle: 2,
  inApp: 17,
  product: 1702,
  transaction: 1703,
  originalTransaction: 1705,
} as const;

/**
 * A legacy app receipt with one purchase, in base64: PKCS #7 with Apple's attributes, and without signers, as nobody
 * verifies it: a receipt only names a transaction to ask about.
 *
 * @see https://developer.apple.com/documentation/appstorereceipts
 */
export const legacyReceipt = (
  bundleIdentifier: string,
  transaction: {
    readonly productIdentifier: string;
    readonly transactionIdentifier: string;
    readonly originalTransactionIdentifier: string;
  },
): string => {
  const inApp = setOf(
    textAttribute(RECEIPT.product, transaction.productIdentifier),
    textAttribute(RECEIPT.transaction, transaction.transactionIdentifier),
    textAttribute(RECEIPT.originalTransaction, transaction.originalTransactionIdentifier),
  );
  const attributes = setOf(
    textAttribute(RECEIPT.bundle, bundleIdentifier),
    receiptAttribute(RECEIPT.inApp, inApp),
  );
  const content = sequence(oid(DATA), tagged(0, octets(der(attributes))));
  const signedData = sequence(new Integer({ value: 1 }), setOf(), content, setOf());
  return der(sequence(oid(SIGNED_DATA), tagged(0, signedData))).toString("base64");
};

/** @see https://developer.apple.com/documentation/appstoreservernotifications/status */
const STATUSES = { active: 1, expired: 2, retry: 3, grace: 4, revoked: 5 } as const;

export const statusOf = ({ standing }: Subscription): number => STATUSES[standing.kind];

/** Fields that describe a problem with the renewal. If there is none, Apple writes none of them. */
const troubleOf = ({ standing }: Subscription) => {
  const failing = { expirationIntent: INTENTS["billing-retry"], isInBillingRetryPeriod: true };
  switch (standing.kind) {
    case "active":
      return {};
    case "grace":
      return { ...failing, gracePeriodExpiresDate: standing.endsAt };
    case "retry":
      return failing;
    case "expired":
      return { expirationIntent: standing.intent, isInBillingRetryPeriod: false };
    case "revoked":
      return { isInBillingRetryPeriod: false };
  }
};

/** @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload */
const renewalInfoPayload = (
  { environment, appTransactionIdentifier }: Account,
  lineage: Lineage,
  subscription: Subscription,
  signedDate: Instant,
) => ({
  originalTransactionId: lineage.originalTransactionIdentifier,
  productId: latestOf(lineage).productIdentifier,
  autoRenewProductId: subscription.next.productIdentifier,
  autoRenewStatus: subscription.autoRenews ? 1 : 0,
  ...(subscription.autoRenews && { renewalPrice: 4990, currency: "USD" }),
  ...troubleOf(subscription),
  ...(subscription.priceIncrease !== null && {
    priceIncreaseStatus: subscription.priceIncrease === "agreed" ? 1 : 0,
  }),
  signedDate,
  environment,
  recentSubscriptionStartDate: subscription.servedSince,
  renewalDate: endOf(lineage),
  appAccountToken: lineage.appAccountToken ?? undefined,
  appTransactionId: appTransactionIdentifier ?? undefined,
  ...deviceVerification(),
});

/**
 * Signed payloads of an account and its purchases at a moment, or as soon as a lineage's last change allows.
 *
 * @param sender only a device proves that a payload is its own
 */
export const signedPayloadsOf = (
  account: Account,
  at: Instant,
  signer: JwsSigner,
  sender: "store" | "device",
) => {
  const others =
    sender === "device" ? {} : { deviceVerification: undefined, deviceVerificationNonce: undefined };
  const sign = (payload: object): string => signJws({ ...payload, ...others }, signer);
  const signedDateOf = ({ changedAt }: Lineage): Instant => Math.max(at, changedAt);
  return {
    appTransaction: (): string => sign(appTransactionPayload({ ...account, receiptCreationDate: at })),
    transaction: (lineage: Lineage, transaction: SoldTransaction): string =>
      sign(transactionPayload(account, { ...lineage, ...transaction, signedDate: signedDateOf(lineage) })),
    /** Undefined: the purchase is no subscription. */
    renewalInfo: (lineage: Lineage): string | undefined =>
      lineage.subscription === null
        ? undefined
        : sign(renewalInfoPayload(account, lineage, lineage.subscription, signedDateOf(lineage))),
  };
};

/** A person's purchases as an app sends them, as compact JWS: `AppTransaction.shared`, `Transaction.all`, `Status.renewalInfo`. */
export type PersonsPurchases = ReturnType<typeof personsPurchases>;

export const personsPurchases = (
  account: Account,
  lineages: readonly Lineage[],
  at: Instant,
  signer: JwsSigner,
) => {
  const signed = signedPayloadsOf(account, at, signer, "device");
  const { applicationAccountIdentifier } = account;
  return {
    signedAppTransaction: signed.appTransaction(),
    signedTransactions: lineages.flatMap((lineage) =>
      lineage.transactions.map((transaction) => signed.transaction(lineage, transaction)),
    ),
    signedRenewalInfos: lineages.flatMap((lineage) => signed.renewalInfo(lineage) ?? []),
    /** Ids under which the purchases can be changed. */
    originalTransactionIdentifiers: lineages.map((lineage) => lineage.originalTransactionIdentifier),
    ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
  };
};
