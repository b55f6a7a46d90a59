import type { Environment } from "../../contract/schemas.ts";
import { DAY, MINUTE } from "../../duration.ts";
import type { PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { PendingAcknowledgement, Question } from "./reading.ts";

const WEEK = 7 * DAY;

/**
 * Time at which the store refunds an unacknowledged purchase: after three days, three minutes for a licence tester, half
 * of a prepaid plan shorter than a week. While Google still asks, a third of that is assumed to be left.
 *
 * @param prepaidUntil end of a prepaid plan; null: the purchase renews, or is not a subscription
 * @param isTopUp whether a prepaid plan continues an older purchase: the end covers all time bought, so a day is assumed
 * @see https://developer.android.com/google/play/billing/integrate#process
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#prepaid-plans
 */
export const acknowledgementDeadline = ({
  environment,
  madeAt,
  answeredAt,
  prepaidUntil,
  isTopUp = false,
}: {
  readonly environment: Environment;
  readonly madeAt: Instant | null;
  readonly answeredAt: Instant;
  readonly prepaidUntil: Instant | null;
  readonly isTopUp?: boolean;
}): Instant => {
  const from = madeAt ?? answeredAt;
  const bought = prepaidUntil === null ? Infinity : Math.max(0, prepaidUntil - from);
  const plan = isTopUp ? Math.min(bought, DAY) : bought;
  const usual = 3 * (environment === "production" ? DAY : MINUTE);
  const within = plan < WEEK ? Math.min(usual, plan / 2) : usual;
  return Math.floor(Math.max(from + within, answeredAt + within / 3));
};

/**
 * Time at which an acknowledgement is given up: its deadline, and in production three days after it became due, if that is later. A
 * deadline may be earlier than the store's: a top-up's plan is not known, and a replacement may keep the start time of the
 * purchase before it.
 */
export const givenUpAt = (
  environment: Environment,
  { deadline, dueSince }: { readonly deadline: Instant; readonly dueSince: Instant },
): Instant => (environment === "production" ? Math.max(deadline, dueSince + 3 * DAY) : deadline);

export const pendingAcknowledgement = (
  { store, environment, key }: PurchaseReference,
  { packageName, purchaseToken, answeredAt }: Question,
  {
    productKind,
    productIdentifier,
    ...plan
  }: Pick<PendingAcknowledgement, "productKind" | "productIdentifier"> & {
    readonly madeAt: Instant | null;
    readonly prepaidUntil: Instant | null;
    readonly isTopUp?: boolean;
  },
): PendingAcknowledgement => ({
  purchase: { store, environment, key },
  packageName,
  purchaseToken,
  productKind,
  productIdentifier,
  deadline: acknowledgementDeadline({ environment, answeredAt, ...plan }),
});
