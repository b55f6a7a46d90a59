import * as z from "zod";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/requests.ts";
import { DAY } from "../../../testing/support/stores/purchases.ts";

/**
 * Which changes of iOS purchases a refresh finds. All others come by a notification, or with the next request of the
 * person's app, which sends all transactions.
 */

export const iosTransaction = z.object({
  transactionId: z.string(),
  originalTransactionId: z.string(),
  /** A subscription's period; its restored copies have the same. */
  webOrderLineItemId: z.string().optional(),
  productId: z.string(),
  type: z.string(),
  purchaseDate: z.number(),
  expiresDate: z.number().optional(),
  revocationDate: z.number().optional(),
});
export type IosTransaction = z.output<typeof iosTransaction>;

export const isRefund = ({ change }: RequestedChange): boolean =>
  change === "refund" || change === "refund-partly";

const isAboutRefund = (change: RequestedChange): boolean =>
  isRefund(change) || change.change === "reverse-refund" || change.change === "unshare";

/** The transaction that a change is about: of a reversal the latest that was refunded, or else the latest of all. */
const concerned = (
  { change }: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
): IosTransaction | undefined =>
  change === "reverse-refund"
    ? transactions.find(({ revocationDate }) => revocationDate !== undefined)
    : (named ?? transactions[0]);

/** Time before a period's end at which a renewal may be charged. */
const CHARGED_AHEAD = 2 * DAY;

/** Whether the App Store makes such a change: it renews no subscription whose next period is charged and has not begun. */
export const isMade = (
  { change }: RequestedChange,
  [latest]: readonly IosTransaction[],
  now: Instant,
): boolean => !(change.startsWith("renew") && latest !== undefined && latest.purchaseDate > now);

/**
 * Whether Apple's answers show the change: the statuses tell the latest transaction of each subscription, so a refund of
 * an earlier period, or its reversal, is not among them. Such a period is over, or about to be. Nor is the mark of an upgrade,
 * which alone tells it from a renewal charged ahead.
 *
 * @param transactions of the lineage, the latest first
 * @param named the transaction that is refunded
 */
export const showsInAnswers = (
  change: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
  now: Instant,
): boolean => {
  const [latest] = transactions;
  if (change.change === "upgrade") return now < (latest?.expiresDate ?? Infinity) - CHARGED_AHEAD;
  return (
    !isAboutRefund(change) ||
    concerned(change, transactions, named)?.webOrderLineItemId === latest?.webOrderLineItemId
  );
};

/** Last question after an end that Apple calls over, and after the purchase of a pass. */
const LAST_AFTER_END = 30 * DAY;
const LAST_OF_PASS = 394 * DAY;

/**
 * Whether the schedule still asks when the change happens. It asks about no consumable, and always about a
 * non-consumable.
 */
export const isFollowed = (
  change: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
  now: Instant,
): boolean => {
  if (!isAboutRefund(change) && change.change !== "resubscribe") return true;
  const about = concerned(change, transactions, named);
  if (about === undefined) return true;
  const { type, purchaseDate, expiresDate = Infinity } = about;
  const isPassOver = type === "Non-Renewing Subscription" && purchaseDate + LAST_OF_PASS <= now;
  return type !== "Consumable" && !isPassOver && expiresDate + LAST_AFTER_END > now;
};
