import { plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { Circumstances, Lineage, Subscription } from "./lineage.ts";
import { noticeOf, type Outcome } from "./notices.ts";
import type { BoughtTransaction } from "./purchase.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";

const subscriptionOf = (goods: BoughtTransaction, purchaseDate: Instant): Subscription => {
  const { productIdentifier, expiresDate, period, gracePeriod, hidesGraceEnd, renews, billingFails } = goods;
  return {
    standing: { kind: "active" },
    next: { productIdentifier, period },
    cadence:
      expiresDate === undefined
        ? { from: purchaseDate, periods: 1, period }
        : { from: expiresDate, periods: 0, period },
    gracePeriod,
    ...(hidesGraceEnd && { hidesGraceEnd }),
    autoRenews: renews,
    servedSince: purchaseDate,
    billingFails,
    chargedAheadAt: null,
    priceIncrease: null,
    offerIdentifier: null,
  };
};

/** Periods that a customer of long standing may have had. */
const LONGEST_HISTORY = 1000;

/**
 * A new lineage, as it is now. One that was bought in the past has had all its notifications.
 *
 * @throws ImpossibleChange
 */
export const sold = (
  goods: BoughtTransaction,
  account: string,
  { at, newIdentifier }: Circumstances,
): Outcome => {
  const { purchaseDate = at, type } = goods;
  if (purchaseDate > at) throw new ImpossibleChange("Nothing is sold in the future.");
  if (goods.expiresDate !== undefined && goods.expiresDate <= purchaseDate)
    throw new ImpossibleChange("A period ends after it begins.");
  const transactionIdentifier = goods.transactionIdentifier ?? newIdentifier();
  const isSubscription = type === "Auto-Renewable Subscription";
  const first: Lineage = {
    originalTransactionIdentifier: goods.originalTransactionIdentifier ?? transactionIdentifier,
    account,
    type,
    quantity: goods.quantity,
    originalPurchaseDate: purchaseDate,
    appAccountToken: goods.appAccountToken ?? null,
    sharedFrom: null,
    transactions: [
      {
        transactionIdentifier,
        event: newIdentifier(),
        productIdentifier: goods.productIdentifier,
        purchaseDate,
        expiresDate: isSubscription ? (goods.expiresDate ?? plusPeriod(purchaseDate, goods.period)) : null,
        reason: "PURCHASE",
        offerIdentifier: null,
        isUpgraded: false,
        revocation: null,
      },
    ],
    subscription: isSubscription ? subscriptionOf(goods, purchaseDate) : null,
    changedAt: purchaseDate,
  };
  if (purchaseDate === at) {
    const notice = isSubscription
      ? noticeOf(first, "SUBSCRIBED", "INITIAL_BUY")
      : noticeOf(first, "ONE_TIME_CHARGE", null);
    return { lineage: first, notices: [notice] };
  }
  let lineage = first;
  for (let dueAt = nextEventOf(lineage); dueAt !== null && dueAt <= at; dueAt = nextEventOf(lineage)) {
    ({ lineage } = withNextEvent(lineage, { at: dueAt, newIdentifier }));
    if (lineage.transactions.length > LONGEST_HISTORY)
      throw new ImpossibleChange(`More than ${LONGEST_HISTORY} periods have passed since the purchase.`);
  }
  return { lineage, notices: [] };
};
