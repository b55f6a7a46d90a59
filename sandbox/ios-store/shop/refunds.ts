import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import {
  endOf,
  INTENTS,
  latestOf,
  withTransactions,
  type Circumstances,
  type Lineage,
  type Revocation,
  type SoldTransaction,
} from "./lineage.ts";
import { changed, type Outcome } from "./notices.ts";

/** Refunds and revocations. They apply to a purchase event, under each of its transaction ids. */

/** The whole share, in thousandths of a per cent. */
const WHOLE = 100_000;

/** A transaction that a change names, or else the latest that allows it. */
export const namedTransaction = (
  { transactions }: Lineage,
  transactionIdentifier: string | undefined,
  allows: (transaction: SoldTransaction) => boolean = () => true,
): SoldTransaction => {
  const found = transactions.findLast(
    (transaction) =>
      allows(transaction) &&
      (transactionIdentifier === undefined || transaction.transactionIdentifier === transactionIdentifier),
  );
  if (found === undefined) throw new ImpossibleChange("There is no transaction with which that is possible.");
  return found;
};

/** Sets or lifts the revocation of an event. A subscription's standing follows that of its latest event. */
const withRevocation = (
  lineage: Lineage,
  { event }: SoldTransaction,
  revocation: Revocation | null,
  at: number,
): Partial<Lineage> => {
  const change = withTransactions(
    lineage,
    (transaction) => transaction.event === event,
    (transaction) => ({ ...transaction, revocation }),
  );
  const { subscription } = lineage;
  if (subscription === null || latestOf(lineage).event !== event) return change;
  const restored =
    endOf(lineage) <= at
      ? ({ kind: "expired", intent: INTENTS.voluntary } as const)
      : ({ kind: "active" } as const);
  const standing = revocation === null ? restored : ({ kind: "revoked" } as const);
  return { ...change, subscription: { ...subscription, standing, autoRenews: false } };
};

/** Refunds a transaction. Before it refunds a subscription's latest, the store turns the renewal off. */
const refunded = (
  lineage: Lineage,
  named: string | undefined,
  refund: Omit<Revocation, "at">,
  { at }: Circumstances,
): Outcome => {
  const transaction = namedTransaction(
    lineage,
    named,
    ({ revocation }) => revocation === null || revocation.type === "REFUND_PRORATED",
  );
  const { subscription } = lineage;
  const off =
    subscription?.autoRenews === true && latestOf(lineage).event === transaction.event
      ? changed(
          lineage,
          at,
          { subscription: { ...subscription, autoRenews: false } },
          "DID_CHANGE_RENEWAL_STATUS",
          "AUTO_RENEW_DISABLED",
        )
      : { lineage, notices: [] };
  const { transactionIdentifier } = transaction;
  const revocation = withRevocation(off.lineage, transaction, { at, ...refund }, at);
  const over = changed(off.lineage, at, revocation, "REFUND", null, { transactionIdentifier });
  return { lineage: over.lineage, notices: [...off.notices, ...over.notices] };
};

/** @throws ImpossibleChange */
export const refundedWholly = (
  lineage: Lineage,
  { transactionIdentifier, reason }: Extract<IosChange, { change: "refund" }>,
  circumstances: Circumstances,
): Outcome =>
  refunded(lineage, transactionIdentifier, { reason, type: "REFUND_FULL", percentage: WHOLE }, circumstances);

/** @throws ImpossibleChange */
export const refundedPartly = (
  lineage: Lineage,
  change: Extract<IosChange, { change: "refund-partly" }>,
  circumstances: Circumstances,
): Outcome => {
  const { transactionIdentifier, reason, refundedQuantity, percentage } = change;
  if ((refundedQuantity === undefined) === (percentage === undefined))
    throw new ImpossibleChange("A partial refund has a refundedQuantity or a percentage.");
  if (refundedQuantity !== undefined && refundedQuantity >= lineage.quantity)
    throw new ImpossibleChange(`The purchase has a quantity of ${lineage.quantity}; fewer can be refunded.`);
  const share =
    refundedQuantity === undefined ? (percentage ?? 0) / 100 : refundedQuantity / lineage.quantity;
  return refunded(
    lineage,
    transactionIdentifier,
    { reason, type: "REFUND_PRORATED", percentage: Math.round(share * WHOLE) },
    circumstances,
  );
};

/** @throws ImpossibleChange */
export const refundReversed = (
  lineage: Lineage,
  change: Extract<IosChange, { change: "reverse-refund" }>,
  { at }: Circumstances,
): Outcome => {
  const transaction = namedTransaction(
    lineage,
    change.transactionIdentifier,
    ({ revocation }) => revocation !== null && revocation.type !== "FAMILY_REVOKE",
  );
  const { transactionIdentifier } = transaction;
  const reversed = withRevocation(lineage, transaction, null, at);
  return changed(lineage, at, reversed, "REFUND_REVERSED", null, { transactionIdentifier });
};

/** Revokes a shared purchase from a family member. */
export const revokedFromFamily = (
  lineage: Lineage,
  reason: Revocation["reason"],
  { at }: Circumstances,
): Outcome => {
  const revocation = { at, reason, type: "FAMILY_REVOKE", percentage: null } as const;
  return changed(lineage, at, withRevocation(lineage, latestOf(lineage), revocation, at), "REVOKE", null);
};
