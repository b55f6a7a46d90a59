import type { Instant } from "../../../lib/entitlements/time.ts";
import { appTransactionPayload, deviceVerification, transactionPayload } from "./app-store.ts";
import {
  endOf,
  INTENTS,
  latestOf,
  type Account,
  type Lineage,
  type SoldTransaction,
  type Subscription,
} from "./lineage.ts";
import { signJws, type JwsSigner } from "../signing.ts";

/** @see https://developer.apple.com/documentation/appstoreservernotifications/status */
const STATUSES = { active: 1, expired: 2, retry: 3, grace: 4, revoked: 5 } as const;

export const statusOf = ({ standing }: Subscription): number => STATUSES[standing.kind];

const transactionOf = (
  account: Account,
  lineage: Lineage,
  { revocation, ...transaction }: SoldTransaction,
  signedDate: Instant,
) => ({
  ...transactionPayload(account, { ...lineage, ...transaction, signedDate }),
  ...(lineage.subscription !== null && {
    webOrderLineItemId: transaction.event,
    isUpgraded: transaction.isUpgraded,
  }),
  originalPurchaseDate: lineage.originalPurchaseDate,
  quantity: lineage.quantity,
  inAppOwnershipType: lineage.sharedFrom === null ? "PURCHASED" : "FAMILY_SHARED",
  appAccountToken: lineage.appAccountToken ?? undefined,
  transactionReason: transaction.reason,
  ...(revocation !== null && {
    revocationDate: revocation.at,
    revocationReason: revocation.reason,
    revocationType: revocation.type,
    revocationPercentage: revocation.percentage ?? undefined,
  }),
});

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
      sign(transactionOf(account, lineage, transaction, signedDateOf(lineage))),
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
