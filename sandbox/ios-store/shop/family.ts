import { ImpossibleChange } from "../../impossible-change.ts";
import { notified, type Current } from "./current.ts";
import { endOf, latestOf, type Lineage } from "./lineage.ts";

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
  const event = newIdentifier();
  const shared: Lineage = {
    ...purchased,
    originalTransactionIdentifier: transactionIdentifier,
    account,
    originalPurchaseDate: at,
    appAccountToken: null,
    sharedFrom: purchased.originalTransactionIdentifier,
    transactions: [{ ...latest, transactionIdentifier, event, purchaseDate: at, reason: "PURCHASE" }],
    subscription: subscription === null ? null : { ...subscription, servedSince: at },
    changedAt: at,
  };
  return notified(
    { ...current, lineage: shared },
    subscription === null ? "ONE_TIME_CHARGE" : "SUBSCRIBED INITIAL_BUY",
  );
};
