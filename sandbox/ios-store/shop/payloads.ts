import type { Instant } from "../../../lib/entitlements/time.ts";
import {
  appTransactionPayload,
  deviceVerification,
  transactionPayload,
  type SandboxTransaction,
} from "./app-store.ts";
import type { Account, Lineage, SoldTransaction } from "./lineage.ts";
import { renewalInfoPayload } from "./renewal-info.ts";
import { signJws, type JwsSigner } from "../signing.ts";

/** A person's purchases as an app sends them: StoreKit's `AppTransaction.shared`, `Transaction.all` and `Status.renewalInfo`, as compact JWS. */
export interface PersonsPurchases {
  readonly signedAppTransaction: string;
  readonly signedTransactions: readonly string[];
  readonly signedRenewalInfos: readonly string[];
  /** Ids under which the purchases can be changed. */
  readonly originalTransactionIdentifiers: readonly string[];
  /** Only where the purchase named one. */
  readonly applicationAccountIdentifier?: string | null;
}

const asSigned = (
  lineage: Lineage,
  transaction: SoldTransaction,
  signedDate: Instant,
): SandboxTransaction => {
  const { revocation } = transaction;
  return {
    productIdentifier: transaction.productIdentifier,
    type: lineage.type,
    purchaseDate: transaction.purchaseDate,
    expiresDate: transaction.expiresDate ?? undefined,
    signedDate,
    transactionIdentifier: transaction.transactionIdentifier,
    originalTransactionIdentifier: lineage.originalTransactionIdentifier,
    webOrderLineItemIdentifier: transaction.event,
    originalPurchaseDate: lineage.originalPurchaseDate,
    quantity: lineage.quantity,
    isUpgraded: transaction.isUpgraded,
    inAppOwnershipType: lineage.sharedFrom === null ? "PURCHASED" : "FAMILY_SHARED",
    transactionReason: transaction.reason,
    appAccountToken: lineage.appAccountToken ?? undefined,
    offerIdentifier: transaction.offerIdentifier ?? undefined,
    revocationDate: revocation?.at,
    revocationReason: revocation?.reason,
    revocationType: revocation?.type,
    revocationPercentage: revocation?.percentage ?? undefined,
  };
};

/** A payload as the store itself sends it, not a device. */
const withoutDevice = <Payload extends Partial<ReturnType<typeof deviceVerification>>>(payload: Payload) => {
  const { deviceVerification: _, deviceVerificationNonce: __, ...own } = payload;
  return own;
};

/** When a lineage's payloads are signed on request: at the moment, or as soon as its last change allows. */
export const signedDateOf = (lineage: Lineage, at: Instant): Instant => Math.max(at, lineage.changedAt);

/** The app transaction, as the store signs it for its own messages. */
export const storeAppTransaction = (account: Account, at: Instant, signer: JwsSigner): string =>
  signJws(
    withoutDevice(appTransactionPayload({ ...account, receiptCreationDate: at, transactions: [] })),
    signer,
  );

/** A transaction, as the store signs it for its own messages. */
export const storeTransaction = (
  account: Account,
  lineage: Lineage,
  transaction: SoldTransaction,
  signedDate: Instant,
  signer: JwsSigner,
): string =>
  signJws(withoutDevice(transactionPayload(account, asSigned(lineage, transaction, signedDate))), signer);

/** The renewal info, as the store signs it for its own messages; null: no subscription. */
export const storeRenewalInfo = (
  account: Account,
  lineage: Lineage,
  signedDate: Instant,
  signer: JwsSigner,
): string | null =>
  lineage.subscription === null
    ? null
    : signJws(renewalInfoPayload(account, lineage, lineage.subscription, signedDate), signer);

/** Everything that an app sends about the lineages. */
export const personsPurchases = (
  account: Account,
  lineages: readonly Lineage[],
  at: Instant,
  signer: JwsSigner,
): PersonsPurchases => ({
  signedAppTransaction: signJws(
    appTransactionPayload({ ...account, receiptCreationDate: at, transactions: [] }),
    signer,
  ),
  signedTransactions: lineages.flatMap((lineage) =>
    lineage.transactions.map((transaction) =>
      signJws(transactionPayload(account, asSigned(lineage, transaction, signedDateOf(lineage, at))), signer),
    ),
  ),
  signedRenewalInfos: lineages.flatMap((lineage) =>
    lineage.subscription === null
      ? []
      : [
          signJws(
            {
              ...renewalInfoPayload(account, lineage, lineage.subscription, signedDateOf(lineage, at)),
              ...deviceVerification(),
            },
            signer,
          ),
        ],
  ),
  originalTransactionIdentifiers: lineages.map(
    ({ originalTransactionIdentifier }) => originalTransactionIdentifier,
  ),
  ...(account.applicationAccountIdentifier !== undefined && {
    applicationAccountIdentifier: account.applicationAccountIdentifier,
  }),
});
