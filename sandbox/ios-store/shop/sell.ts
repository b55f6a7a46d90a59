import { plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { Current, Lineage, Subscription } from "./lineage.ts";
import { told, type Outcome } from "./notices.ts";
import type { BoughtTransaction } from "./purchase.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";

const subscriptionOf = (goods: BoughtTransaction, purchaseDate: Instant): Subscription | null => {
  const { type, productIdentifier, expiresDate, period, gracePeriod, renews, billingFails } = goods;
  if (type !== "Auto-Renewable Subscription") return null;
  return {
    standing: { kind: "active" },
    next: { productIdentifier, period },
    cadence:
      expiresDate === undefined
        ? { from: purchaseDate, periods: 1, period }
        : { from: expiresDate, periods: 0, period },
    gracePeriod,
    autoRenews: renews,
    servedSince: purchaseDate,
    billingFails,
    chargedAheadAt: null,
    priceIncrease: null,
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
  { at, newIdentifier }: Omit<Current, "lineage">,
): Outcome => {
  const { purchaseDate = at, productIdentifier } = goods;
  if (purchaseDate > at) throw new ImpossibleChange("Nothing is sold in the future.");
  if (goods.expiresDate !== undefined && goods.expiresDate <= purchaseDate)
    throw new ImpossibleChange("A period ends after it begins.");
  const subscription = subscriptionOf(goods, purchaseDate);
  const transactionIdentifier = goods.transactionIdentifier ?? newIdentifier();
  const { expiresDate = plusPeriod(purchaseDate, goods.period) } = goods;
  const first = {
    transactionIdentifier,
    event: newIdentifier(),
    productIdentifier,
    purchaseDate,
    expiresDate: subscription === null ? null : expiresDate,
    reason: "PURCHASE",
    isUpgraded: false,
    revocation: null,
  } as const;
  let lineage: Lineage = {
    originalTransactionIdentifier: goods.originalTransactionIdentifier ?? transactionIdentifier,
    account,
    type: goods.type,
    quantity: goods.quantity,
    originalPurchaseDate: purchaseDate,
    appAccountToken: goods.appAccountToken ?? null,
    sharedFrom: null,
    transactions: [first],
    subscription,
    changedAt: purchaseDate,
  };
  if (purchaseDate === at)
    return told(lineage, subscription === null ? "ONE_TIME_CHARGE" : "SUBSCRIBED INITIAL_BUY");
  for (let dueAt = nextEventOf(lineage); dueAt !== null && dueAt <= at; dueAt = nextEventOf(lineage)) {
    ({ lineage } = withNextEvent({ lineage, at: dueAt, newIdentifier }));
    if (lineage.transactions.length > LONGEST_HISTORY)
      throw new ImpossibleChange(`More than ${LONGEST_HISTORY} periods have passed since the purchase.`);
  }
  return { lineage, notices: [] };
};
