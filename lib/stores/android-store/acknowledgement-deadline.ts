import type { Environment } from "../../contract/schemas.ts";
import { DAY, MINUTE } from "../../duration.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PendingAcknowledgement, Question } from "./reading.ts";

const WEEK = 7 * DAY;

interface Bought extends Pick<PendingAcknowledgement, "productKind" | "productIdentifier"> {
  readonly madeAt: Instant | null;
  /** End of a prepaid plan; null: the purchase renews, or is not a subscription. */
  readonly prepaidUntil: Instant | null;
  /** Whether a prepaid plan continues an older purchase: the end covers all time bought, so a day is assumed. */
  readonly isTopUp?: boolean;
}

/**
 * The store refunds an unacknowledged purchase after three days, three minutes for a licence tester, half of a prepaid
 * plan shorter than a week. While Google still asks, a third of that is assumed to be left.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#prepaid-plans
 */
export const pendingAcknowledgement = (
  { store, environment, key }: PurchaseReference,
  { packageName, purchaseToken, answeredAt }: Question,
  { productKind, productIdentifier, madeAt, prepaidUntil, isTopUp = false }: Bought,
): PendingAcknowledgement => {
  const from = madeAt ?? answeredAt;
  const bought = prepaidUntil === null ? Infinity : Math.max(0, prepaidUntil - from);
  const plan = isTopUp ? Math.min(bought, DAY) : bought;
  const usual = 3 * (environment === "production" ? DAY : MINUTE);
  const within = plan < WEEK ? Math.min(usual, plan / 2) : usual;
  const deadline = Math.floor(Math.max(from + within, answeredAt + within / 3));
  const purchase = { store, environment, key };
  return { purchase, packageName, purchaseToken, productKind, productIdentifier, deadline };
};

/**
 * Time at which an acknowledgement is given up: its deadline, in production at least three days after it became due. A
 * deadline may be earlier than the store's: a top-up's plan is not known, and a replacement may keep the start time of the
 * purchase before it.
 */
export const givenUpAt = (
  environment: Environment,
  { deadline, dueSince }: { readonly deadline: Instant; readonly dueSince: Instant },
): Instant => (environment === "production" ? Math.max(deadline, dueSince + 3 * DAY) : deadline);
