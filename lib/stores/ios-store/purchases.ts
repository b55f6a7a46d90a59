import { joinAll } from "../../entitlements/join.ts";
import {
  mentionedPurchase,
  purchaseOf,
  renewedPurchase,
  type Line,
  type Nature,
  type Purchase,
  type PurchaseReference,
  type IdentityReference,
  type ProvenPurchase,
} from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import { purchaseKey, type PurchaseKey } from "../../identifiers.ts";
import type { Environment } from "../../contract/schemas.ts";
import { commonAppTransaction, type NamesAppTransaction } from "./claims.ts";
import {
  NATURES,
  type RenewalInfo,
  type Signed,
  type StatedRenewalInfo,
  type Transaction,
} from "./payloads.ts";

/** StoreKit testing in Xcode numbers purchases from "0" on each machine, so its ids identify nothing. */
const isXcode = ({ environment }: Transaction): boolean => environment === "xcode";

/**
 * Name of the purchase event, the same under every transaction id: `webOrderLineItemId` is "the unique identifier of
 * subscription purchase events across devices".
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/weborderlineitemid
 */
const eventOf = (transaction: Transaction): string => {
  const { type, transactionId, webOrderLineItemId, purchaseDate, expiresDate } = transaction;
  switch (NATURES[type]) {
    case "auto_renewable":
      return isXcode(transaction) || webOrderLineItemId === null
        ? `until ${expiresDate}`
        : webOrderLineItemId;
    case "non_renewing":
    case "non_consumable":
      return isXcode(transaction) ? `from ${startOf(transaction)}` : "";
    case "consumable":
      return isXcode(transaction) ? `from ${purchaseDate}` : transactionId;
  }
};

const ORIGINAL_START: ReadonlySet<Nature> = new Set(["non_renewing", "non_consumable"]);

/** Start of the purchase. A restored copy of what is not renewed has the date of the restore as its purchase date. */
const startOf = ({ type, purchaseDate, originalPurchaseDate }: Transaction): Instant =>
  ORIGINAL_START.has(NATURES[type]) ? (originalPurchaseDate ?? purchaseDate) : purchaseDate;

/** The whole share, in thousandths of a per cent. */
const WHOLE = 100_000;

/** Natures whose units can be refunded in part while the others stay. */
const DIVISIBLE: ReadonlySet<Nature> = new Set(["consumable", "non_renewing"]);

/** A revocation ends a transaction, whatever its percentage; of several passes or consumables, the refunded share. */
const revocationOf = (
  { type, revocationDate: revokedAt, revocationPercentage: share }: Transaction,
  quantity: number,
): Pick<Line, "revokedAt" | "refundedQuantity"> => {
  if (revokedAt === null || share === null || quantity <= 1 || !DIVISIBLE.has(NATURES[type]))
    return { revokedAt, refundedQuantity: 0 };
  const refundedQuantity = Math.round((quantity * share) / WHOLE);
  return refundedQuantity >= quantity
    ? { revokedAt, refundedQuantity: 0 }
    : { revokedAt: null, refundedQuantity };
};

const lineOf = (transaction: Transaction): Line => {
  const nature = NATURES[transaction.type];
  const quantity = transaction.quantity ?? 1;
  return {
    transactionIdentifier: transaction.transactionId,
    event: eventOf(transaction),
    productIdentifier: transaction.productId,
    basePlanIdentifier: null,
    purchaseOptionIdentifier: null,
    nature,
    standing: transaction.isUpgraded === true ? "expired" : "entitled",
    startsAt: startOf(transaction),
    purchasedAt: transaction.purchaseDate,
    // Only auto-renewable subscriptions have an end of their own.
    endsAt: nature === "auto_renewable" ? transaction.expiresDate : null,
    ...revocationOf(transaction, quantity),
    revokedSince: transaction.revocationDate,
    quantity,
    rented: false,
    willRenew: null,
    verifiedAt: transaction.signedAt,
  };
};

/**
 * Key of a transaction's lineage: its original transaction id. In Xcode that is "0" for everything, so there the
 * signing certificate, and the subscription group or the product, are part of the key.
 */
const lineageKeyOf = (transaction: Transaction): PurchaseKey => {
  const { originalTransactionId: original, xcodeCertificate, productId } = transaction;
  if (!isXcode(transaction)) return purchaseKey(original);
  return purchaseKey(
    `${xcodeCertificate}:${original}:${transaction.subscriptionGroupIdentifier ?? productId}`,
  );
};

const referenceOf = ({ environment }: Signed, key: PurchaseKey): PurchaseReference => ({
  store: "ios-store",
  environment,
  key,
});

/** The lineage that this one replaced, from the start of this period on; from its end if the copy was restored later. */
const replaced = (transaction: Transaction, key: PurchaseKey): Purchase[] => {
  const { previousOriginalTransactionId: previous, purchaseDate, expiresDate } = transaction;
  if (previous === null || isXcode(transaction) || previous === key) return [];
  const from = Math.min(purchaseDate, expiresDate ?? Infinity);
  return [mentionedPurchase(referenceOf(transaction, purchaseKey(previous)), key, from)];
};

const identityOf = (environment: Environment, value: string | null): IdentityReference | null =>
  value === null || environment === "xcode"
    ? null
    : { store: "ios-store", kind: "app-transaction", environment, value };

/** Identity common to a request's signed payloads; null where there is none, or more than one. */
export const appTransactionIdentityOf = (
  payloads: readonly (NamesAppTransaction & Pick<Transaction, "environment">)[],
): IdentityReference | null => {
  const [first] = payloads;
  return first === undefined ? null : identityOf(first.environment, commonAppTransaction(payloads));
};

/** Identity of a lineage. A lineage may carry two ids; any of them shows that it agrees with the request. */
const lineageIdentityOf = (lineage: readonly Transaction[]): IdentityReference | null =>
  lineage
    .map(({ environment, appTransactionId }) => identityOf(environment, appTransactionId))
    .find((identity) => identity !== null) ?? null;

/** Purchases that verified transactions prove: one per lineage, in order of first appearance. */
export const purchasesOf = (transactions: readonly Transaction[]): ProvenPurchase[] => {
  const lineages = Map.groupBy(
    transactions,
    (transaction) => `${transaction.environment} ${lineageKeyOf(transaction)}`,
  );
  return [...lineages.values()].flatMap((lineage): ProvenPurchase[] => {
    const signed = lineage.map((transaction) => {
      const reference = referenceOf(transaction, lineageKeyOf(transaction));
      return purchaseOf(reference, [lineOf(transaction)], transaction.signedAt);
    });
    // Fast path: most often a lineage has one transaction.
    const [purchase] = signed.length === 1 ? signed : joinAll(signed);
    if (purchase === undefined) return [];
    const named = lineage.flatMap((transaction) => replaced(transaction, purchase.key));
    const mentioned = named.length === 0 ? named : joinAll(named);
    return [{ purchase, mentioned, identity: lineageIdentityOf(lineage) }];
  });
};

/**
 * Key of the lineage. In Xcode, where original ids identify nothing, it comes from a transaction of the same request;
 * null where there is none.
 */
const lineageKeyOfInfo = (info: RenewalInfo, transactions: readonly Transaction[]): PurchaseKey | null => {
  if (info.environment !== "xcode") return purchaseKey(info.originalTransactionId);
  const of = transactions.find(
    (transaction) =>
      NATURES[transaction.type] === "auto_renewable" &&
      transaction.productId === info.productId &&
      transaction.originalTransactionId === info.originalTransactionId &&
      transaction.xcodeCertificate === info.xcodeCertificate,
  );
  return of === undefined ? null : lineageKeyOf(of);
};

/** `autoRenewStatus` of a subscription that renews. */
const RENEWS = 1;

export const renewalsOf = (
  infos: readonly StatedRenewalInfo[],
  transactions: readonly Transaction[],
): readonly Purchase[] =>
  infos.flatMap((info) => {
    const key = lineageKeyOfInfo(info, transactions);
    if (key === null) return [];
    const { isInGrace, renewalDate: periodEndsAt, signedAt } = info;
    return renewedPurchase(referenceOf(info, key), {
      periodEndsAt,
      willRenew: info.autoRenewStatus === RENEWS,
      renewsInto: info.autoRenewProductId,
      graceEndsAt: info.gracePeriodExpiresDate,
      isInBillingRetry: info.isInBillingRetryPeriod === true,
      expirationIntent: info.expirationIntent,
      signedAt,
      status: isInGrace === undefined ? null : { isInGrace, periodEndsAt, signedAt },
    });
  });
