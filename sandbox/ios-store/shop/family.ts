import { ImpossibleChange } from "../../impossible-change.ts";
import {
  changed,
  endOf,
  latestOf,
  told,
  type Current,
  type Lineage,
  type Outcome,
  type Revocation,
} from "./lineage.ts";
import { withRevocation } from "./refunds.ts";

const SHAREABLE: ReadonlySet<Lineage["type"]> = new Set(["Auto-Renewable Subscription", "Non-Consumable"]);

/**
 * The lineage of a family member: its ids are its own; its period and renewal are the purchaser's.
 *
 * @throws ImpossibleChange
 */
export const sharedWith = (account: string, { lineage: purchased, at, newIdentifier }: Current): Outcome => {
  if (!SHAREABLE.has(purchased.type))
    throw new ImpossibleChange("Only subscriptions and non-consumables can be shared with family.");
  const latest = latestOf(purchased);
  if (latest.revocation !== null) throw new ImpossibleChange("The purchase was refunded.");
  const { subscription } = purchased;
  if (subscription !== null && endOf(purchased) <= at)
    throw new ImpossibleChange("The subscription's period has ended.");
  const transactionIdentifier = newIdentifier();
  const shared: Lineage = {
    ...purchased,
    originalTransactionIdentifier: transactionIdentifier,
    account,
    originalPurchaseDate: at,
    appAccountToken: null,
    sharedFrom: purchased.originalTransactionIdentifier,
    transactions: [
      {
        ...latest,
        transactionIdentifier,
        event: newIdentifier(),
        purchaseDate: at,
        reason: "PURCHASE",
      },
    ],
    subscription: subscription === null ? null : { ...subscription, servedSince: at },
    changedAt: at,
  };
  return told(shared, subscription === null ? "ONE_TIME_CHARGE" : "SUBSCRIBED INITIAL_BUY");
};

/** Revokes a shared purchase from a family member. */
export const revokedFromFamily = (lineage: Lineage, reason: Revocation["reason"], at: number): Outcome => {
  const revocation = { at, reason, type: "FAMILY_REVOKE", percentage: null } as const;
  return changed(lineage, at, withRevocation(lineage, latestOf(lineage), revocation, at), "REVOKE");
};
