import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/change.ts";
import { DAY } from "../../support/purchases.ts";

/** What the ladder of refreshes follows of Apple's purchases, and for how long: the rest is told by notifications alone. */

export const iosTransaction = z.object({
  transactionId: z.string(),
  originalTransactionId: z.string(),
  type: z.string(),
  purchaseDate: z.number(),
  expiresDate: z.number().optional(),
  revocationDate: z.number().optional(),
});
export type IosTransaction = z.output<typeof iosTransaction>;

export const isRefund = ({ change }: RequestedChange): boolean =>
  change === "refund" || change === "refund-partly";

/** Apple retries a payment for so long after an end, and so long an end or a refund is followed. */
const FOLLOWED = 60 * DAY;
/** A pass is followed for so long after its purchase. */
const PASS_FOLLOWED = 400 * DAY;

/**
 * Whether a refresh will find the change without an operator. Not found are refunds of consumables, refunds of
 * subscriptions that ended 60 days ago, of passes bought 400 days ago, reversals 60 days after the refund, and subscriptions
 * bought again 60 days after their end. None of them brings access that should not be; the last is seen by the app.
 *
 * @param transactions of the lineage, the latest first
 * @param named the transaction that is refunded
 */
export const isFound = (
  change: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
  now: Instant,
): boolean => {
  const [latest] = transactions;
  const reversed = transactions.find(({ revocationDate }) => revocationDate !== undefined);
  const about = named ?? (change.change === "reverse-refund" ? reversed : latest);
  if (about === undefined) return true;
  const { type, purchaseDate, expiresDate = Infinity, revocationDate = Infinity } = about;
  const isOld = expiresDate + FOLLOWED <= now || revocationDate + FOLLOWED <= now;
  if (change.change === "resubscribe") return !isOld;
  if (!isRefund(change) && change.change !== "reverse-refund" && change.change !== "unshare") return true;
  if (type === "Non-Renewing Subscription" && purchaseDate + PASS_FOLLOWED <= now) return false;
  return type !== "Consumable" && !isOld;
};
