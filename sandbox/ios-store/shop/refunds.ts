import { ImpossibleChange } from "../../routes.ts";
import type { ChangesByName } from "./requests.ts";
import {
  changed,
  notified,
  openly,
  withEvent,
  type Current,
  endOf,
  INTENTS,
  latestOf,
  type Lineage,
  type Revocation,
  type SoldTransaction,
  type Subscription,
} from "./lineage.ts";

/** Refunds and revocations. They apply to a purchase event, under each of its transaction ids. */

/** The whole share, in thousandths of a per cent. */
const WHOLE = 100_000;

export const namedTransaction = (
  { transactions }: Lineage,
  transactionIdentifier: string | undefined,
  allows: (revocation: Revocation | null) => boolean = () => true,
): SoldTransaction => {
  const found = transactions.findLast(
    (transaction) =>
      allows(transaction.revocation) &&
      (transactionIdentifier === undefined || transaction.transactionIdentifier === transactionIdentifier),
  );
  if (found === undefined) throw new ImpossibleChange("There is no transaction with which that is possible.");
  return found;
};

const isLatestPeriod = (lineage: Lineage, event: string): boolean =>
  lineage.subscription !== null && latestOf(lineage).event === event;

/** Sets or lifts the revocation of an event. A subscription's standing follows that of its latest event. */
const withRevocation = (
  current: Current,
  { event }: SoldTransaction,
  revocation: Revocation | null,
): Current => {
  const { lineage, at } = current;
  const transactions = withEvent(lineage, event, { revocation });
  if (!isLatestPeriod(lineage, event)) return changed(current, { transactions });
  const over = { kind: "expired", intent: INTENTS.voluntary } as const;
  const restored: Subscription["standing"] = endOf(lineage) <= at ? over : { kind: "active" };
  const standing = revocation === null ? restored : ({ kind: "revoked" } as const);
  return changed(current, { transactions, subscription: { standing, autoRenews: false } });
};

type Refund = ChangesByName["refund" | "refund-partly"];

const shareOf = (change: Refund, quantity: number): Pick<Revocation, "type" | "percentage"> => {
  if (change.change === "refund") return { type: "REFUND_FULL", percentage: WHOLE };
  const { refundedQuantity, percentage } = change;
  if ((refundedQuantity === undefined) === (percentage === undefined))
    throw new ImpossibleChange("A partial refund has a refundedQuantity or a percentage.");
  if (refundedQuantity !== undefined && refundedQuantity >= quantity)
    throw new ImpossibleChange(`The purchase has a quantity of ${quantity}; fewer can be refunded.`);
  const share = refundedQuantity === undefined ? (percentage ?? 0) / 100 : refundedQuantity / quantity;
  return { type: "REFUND_PRORATED", percentage: Math.round(share * WHOLE) };
};

export const renewalDisabled = (current: Current): Current =>
  openly(current, { autoRenews: false }, "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED");

/** @throws ImpossibleChange */
export const refunded = (current: Current, change: Refund): Current => {
  const { lineage, at } = current;
  const share = shareOf(change, lineage.quantity);
  const transaction = namedTransaction(
    lineage,
    change.transactionIdentifier,
    (revocation) => revocation === null || revocation.type === "REFUND_PRORATED",
  );
  const { transactionIdentifier, event } = transaction;
  const renews = lineage.subscription?.autoRenews === true && isLatestPeriod(lineage, event);
  const revocation = { at, reason: change.reason, ...share };
  // Before it refunds a subscription's latest period, the store turns the renewal off.
  const revoked = withRevocation(renews ? renewalDisabled(current) : current, transaction, revocation);
  return notified(revoked, "REFUND", { transactionIdentifier });
};

/** @throws ImpossibleChange */
export const refundReversed = (current: Current, change: ChangesByName["reverse-refund"]): Current => {
  const transaction = namedTransaction(
    current.lineage,
    change.transactionIdentifier,
    (revocation) => revocation !== null && revocation.type !== "FAMILY_REVOKE",
  );
  const { transactionIdentifier } = transaction;
  return notified(withRevocation(current, transaction, null), "REFUND_REVERSED", { transactionIdentifier });
};

/** Revokes a shared purchase from a family member. */
export const revokedFromFamily = (current: Current, reason: Revocation["reason"]): Current => {
  const { lineage, at } = current;
  const revocation = { at, reason, type: "FAMILY_REVOKE", percentage: null } as const;
  return notified(withRevocation(current, latestOf(lineage), revocation), "REVOKE");
};
