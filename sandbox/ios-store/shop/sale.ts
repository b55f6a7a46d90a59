import { plusPeriod, type Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../routes.ts";
import { endOf, latestOf, notified, type Current, type Lineage, type Subscription } from "./lineage.ts";
import { nextEventOf, withNextEvent } from "./renewals.ts";
import type { BoughtTransaction } from "./requests.ts";

const subscriptionFrom = (goods: BoughtTransaction, purchaseDate: Instant): Subscription | null => {
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

/** Past periods of a purchase, at most. */
const LONGEST_HISTORY = 1000;

const withPastEvents = (current: Current): Current => {
  const due = nextEventOf(current.lineage);
  if (current.lineage.transactions.length > LONGEST_HISTORY)
    throw new ImpossibleChange(`More than ${LONGEST_HISTORY} periods have passed since the purchase.`);
  return due === null || due > current.at
    ? current
    : withPastEvents({ ...withNextEvent({ ...current, at: due }), at: current.at });
};

const announced = (current: Current): Current =>
  notified(current, current.lineage.subscription === null ? "ONE_TIME_CHARGE" : "SUBSCRIBED INITIAL_BUY");

/**
 * One that was bought in the past has had all its notifications.
 *
 * @throws ImpossibleChange
 */
export const sold = (
  goods: BoughtTransaction,
  account: string,
  its: Pick<Current, "at" | "newIdentifier">,
): Current => {
  const { at, newIdentifier } = its;
  const { purchaseDate = at, productIdentifier } = goods;
  if (purchaseDate > at) throw new ImpossibleChange("Nothing is sold in the future.");
  if (goods.expiresDate !== undefined && goods.expiresDate <= purchaseDate)
    throw new ImpossibleChange("A period ends after it begins.");
  const subscription = subscriptionFrom(goods, purchaseDate);
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
  const lineage: Lineage = {
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
  const current = { ...its, lineage, notices: [] };
  return purchaseDate === at ? announced(current) : { ...withPastEvents(current), at, notices: [] };
};

const SHAREABLE: ReadonlySet<Lineage["type"]> = new Set(["Auto-Renewable Subscription", "Non-Consumable"]);

/**
 * The lineage of a family member: its ids are its own; its period and renewal are the purchaser's.
 *
 * @param account the member's
 * @throws ImpossibleChange
 */
export const sharedWith = (account: string, current: Current): Current => {
  const { lineage: purchased, at, newIdentifier } = current;
  if (!SHAREABLE.has(purchased.type))
    throw new ImpossibleChange("Only subscriptions and non-consumables can be shared with family.");
  const latest = latestOf(purchased);
  if (latest.revocation !== null) throw new ImpossibleChange("The purchase was refunded.");
  const { subscription } = purchased;
  if (subscription !== null && endOf(purchased) <= at)
    throw new ImpossibleChange("The subscription's period has ended.");
  const transactionIdentifier = newIdentifier();
  const own = {
    transactionIdentifier,
    event: newIdentifier(),
    purchaseDate: at,
    reason: "PURCHASE",
  } as const;
  const shared: Lineage = {
    ...purchased,
    originalTransactionIdentifier: transactionIdentifier,
    account,
    originalPurchaseDate: at,
    appAccountToken: null,
    sharedFrom: purchased.originalTransactionIdentifier,
    transactions: [{ ...latest, ...own }],
    subscription: subscription === null ? null : { ...subscription, servedSince: at },
    changedAt: at,
  };
  return announced({ ...current, lineage: shared });
};
