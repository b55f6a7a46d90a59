import { ImpossibleChange } from "../../impossible-change.ts";
import { endOf, latestOf, type Circumstances, type Lineage } from "./lineage.ts";
import { noticeOf, type Outcome } from "./notices.ts";

const SHAREABLE: ReadonlySet<Lineage["type"]> = new Set(["Auto-Renewable Subscription", "Non-Consumable"]);

/**
 * The lineage of a family member: its ids are its own; its period and renewal are the purchaser's.
 *
 * @throws ImpossibleChange
 */
export const sharedWith = (
  account: string,
  purchased: Lineage,
  { at, newIdentifier }: Circumstances,
): Outcome => {
  if (!SHAREABLE.has(purchased.type))
    throw new ImpossibleChange("Only subscriptions and non-consumables can be shared with family.");
  const latest = latestOf(purchased);
  if (latest.revocation !== null) throw new ImpossibleChange("The purchase was refunded.");
  if (purchased.subscription !== null && endOf(purchased) <= at)
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
        offerIdentifier: null,
      },
    ],
    subscription: purchased.subscription === null ? null : { ...purchased.subscription, servedSince: at },
    changedAt: at,
  };
  const notice =
    shared.subscription === null
      ? noticeOf(shared, "ONE_TIME_CHARGE", null)
      : noticeOf(shared, "SUBSCRIBED", "INITIAL_BUY");
  return { lineage: shared, notices: [notice] };
};
