import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import {
  after,
  endOf,
  INTENTS,
  latestOf,
  withTransactions,
  type Circumstances,
  type Lineage,
  type Revocation,
  type SoldTransaction,
} from "./lineage.ts";
import { noticeOf, type Outcome } from "./notices.ts";

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

const isRefundable = ({ revocation }: SoldTransaction): boolean =>
  revocation === null || revocation.type === "REFUND_PRORATED";

/** Turns the renewal off, as the store does before it refunds a subscription. */
const withoutRenewal = (lineage: Lineage, { at }: Circumstances): Outcome => {
  const { subscription } = lineage;
  if (subscription === null || !subscription.autoRenews) return { lineage, notices: [] };
  const off = after(lineage, at, { subscription: { ...subscription, autoRenews: false } });
  return {
    lineage: off,
    notices: [noticeOf(off, "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED")],
  };
};

/** Sets or lifts the revocation of an event. A subscription's standing follows that of its latest event. */
const withRevocation = (
  lineage: Lineage,
  { event }: SoldTransaction,
  revocation: Revocation | null,
  at: number,
): Lineage => {
  const change = withTransactions(
    lineage,
    (transaction) => transaction.event === event,
    (transaction) => ({ ...transaction, revocation }),
  );
  const { subscription } = lineage;
  if (subscription === null || latestOf(lineage).event !== event) return after(lineage, at, change);
  const isOver = endOf(lineage) <= at;
  const restored = isOver
    ? ({ kind: "expired", intent: INTENTS.voluntary } as const)
    : ({ kind: "active" } as const);
  return after(lineage, at, {
    ...change,
    subscription: {
      ...subscription,
      standing: revocation === null ? restored : { kind: "revoked" },
      autoRenews: false,
    },
  });
};

const refunded = (
  lineage: Lineage,
  transaction: SoldTransaction,
  revocation: Revocation,
  circumstances: Circumstances,
): Outcome => {
  const isLatest = latestOf(lineage).event === transaction.event;
  const before = isLatest ? withoutRenewal(lineage, circumstances) : { lineage, notices: [] };
  const refund = withRevocation(before.lineage, transaction, revocation, circumstances.at);
  const { transactionIdentifier } = transaction;
  return {
    lineage: refund,
    notices: [...before.notices, noticeOf(refund, "REFUND", null, { transactionIdentifier })],
  };
};

/** @throws ImpossibleChange */
export const refundedWholly = (
  lineage: Lineage,
  { transactionIdentifier, reason }: Extract<IosChange, { change: "refund" }>,
  circumstances: Circumstances,
): Outcome =>
  refunded(
    lineage,
    namedTransaction(lineage, transactionIdentifier, isRefundable),
    { at: circumstances.at, reason, type: "REFUND_FULL", percentage: WHOLE },
    circumstances,
  );

/** @throws ImpossibleChange */
export const refundedPartly = (
  lineage: Lineage,
  {
    transactionIdentifier,
    reason,
    refundedQuantity,
    percentage,
  }: Extract<IosChange, { change: "refund-partly" }>,
  circumstances: Circumstances,
): Outcome => {
  if ((refundedQuantity === undefined) === (percentage === undefined))
    throw new ImpossibleChange("A partial refund has a refundedQuantity or a percentage.");
  if (refundedQuantity !== undefined && refundedQuantity >= lineage.quantity)
    throw new ImpossibleChange(`The purchase has a quantity of ${lineage.quantity}; fewer can be refunded.`);
  const share =
    refundedQuantity === undefined ? (percentage ?? 0) / 100 : refundedQuantity / lineage.quantity;
  return refunded(
    lineage,
    namedTransaction(lineage, transactionIdentifier, isRefundable),
    { at: circumstances.at, reason, type: "REFUND_PRORATED", percentage: Math.round(share * WHOLE) },
    circumstances,
  );
};

/** @throws ImpossibleChange */
export const refundReversed = (
  lineage: Lineage,
  { transactionIdentifier: named }: Extract<IosChange, { change: "reverse-refund" }>,
  { at }: Circumstances,
): Outcome => {
  const transaction = namedTransaction(
    lineage,
    named,
    ({ revocation }) => revocation !== null && revocation.type !== "FAMILY_REVOKE",
  );
  const reversed = withRevocation(lineage, transaction, null, at);
  const { transactionIdentifier } = transaction;
  return {
    lineage: reversed,
    notices: [noticeOf(reversed, "REFUND_REVERSED", null, { transactionIdentifier })],
  };
};

/** Revokes a shared purchase from a family member. */
export const revokedFromFamily = (
  lineage: Lineage,
  reason: Revocation["reason"],
  { at }: Circumstances,
): Outcome => {
  const revoked = withRevocation(
    lineage,
    latestOf(lineage),
    { at, reason, type: "FAMILY_REVOKE", percentage: null },
    at,
  );
  return { lineage: revoked, notices: [noticeOf(revoked, "REVOKE", null)] };
};
