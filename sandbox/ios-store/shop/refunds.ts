import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../impossible-change.ts";
import type { IosChange } from "./change.ts";
import {
  both,
  changed,
  endOf,
  having,
  INTENTS,
  latestOf,
  withEvent,
  type Current,
  type Lineage,
  type Outcome,
  type Revocation,
  type SoldTransaction,
} from "./lineage.ts";

/** Refunds and revocations. They apply to a purchase event, under each of its transaction ids. */

/** The whole share, in thousandths of a per cent. */
const WHOLE = 100_000;

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

const isLatestPeriod = (lineage: Lineage, event: string): boolean =>
  lineage.subscription !== null && latestOf(lineage).event === event;

/** Sets or lifts the revocation of an event. A subscription's standing follows that of its latest event. */
export const withRevocation = (
  lineage: Lineage,
  { event }: SoldTransaction,
  revocation: Revocation | null,
  at: Instant,
): Partial<Lineage> => {
  const change = withEvent(lineage, event, { revocation });
  if (!isLatestPeriod(lineage, event)) return change;
  const over = { kind: "expired", intent: INTENTS.voluntary } as const;
  const restored = endOf(lineage) <= at ? over : ({ kind: "active" } as const);
  const standing = revocation === null ? restored : ({ kind: "revoked" } as const);
  return { ...change, ...having(lineage, { standing, autoRenews: false }) };
};

type Refund = Extract<IosChange, { change: "refund" | "refund-partly" }>;

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

/**
 * Refunds a transaction. Before it refunds a subscription's latest, the store turns the renewal off.
 *
 * @throws ImpossibleChange
 */
export const refunded = ({ lineage, at }: Current, change: Refund): Outcome => {
  const share = shareOf(change, lineage.quantity);
  const transaction = namedTransaction(
    lineage,
    change.transactionIdentifier,
    ({ revocation }) => revocation === null || revocation.type === "REFUND_PRORATED",
  );
  const { transactionIdentifier, event } = transaction;
  const off =
    lineage.subscription?.autoRenews === true && isLatestPeriod(lineage, event)
      ? changed(
          lineage,
          at,
          having(lineage, { autoRenews: false }),
          "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
        )
      : { lineage, notices: [] };
  const revocation = withRevocation(off.lineage, transaction, { at, reason: change.reason, ...share }, at);
  return both(off, changed(off.lineage, at, revocation, "REFUND", { transactionIdentifier }));
};

/** @throws ImpossibleChange */
export const refundReversed = ({ lineage, at }: Current, named: string | undefined): Outcome => {
  const transaction = namedTransaction(
    lineage,
    named,
    ({ revocation }) => revocation !== null && revocation.type !== "FAMILY_REVOKE",
  );
  const { transactionIdentifier } = transaction;
  const reversed = withRevocation(lineage, transaction, null, at);
  return changed(lineage, at, reversed, "REFUND_REVERSED", { transactionIdentifier });
};
