import * as z from "zod";
import { DAY, MINUTE } from "../../../lib/duration.ts";
import { isInstant, parsePeriod, type Instant } from "../../../lib/entitlements/time.ts";

/** Terms of a purchase that the API's answer does not show: its events as time passes. */

const instant = z.number().refine(isInstant);

/** An ISO 8601 duration. */
export const period = z
  .string()
  .min(1)
  .refine((value) => parsePeriod(value) !== null, { message: "must be an ISO 8601 duration" });

export const oneTimeTerms = z.object({
  /** The store refunds the purchase at this time unless it is acknowledged; null: it is not paid yet. */
  acknowledgeBy: instant.nullable(),
});

export const subscriptionTerms = oneTimeTerms.extend({
  /** Length of a paid period. */
  period,
  /** After a failed payment, in this order; null: left out. */
  silentPeriod: period.nullable(),
  gracePeriod: period.nullable(),
  accountHold: period.nullable(),
  /** Whether payments fail from now on. */
  paymentFails: z.boolean(),
  /** Length of the pause that begins at the end of the period; null: none is scheduled. */
  pause: period.nullable(),
  /** End of the paid period, which a grace period does not move; null: nothing is paid yet. */
  paidUntil: instant.nullable(),
  /** End of a state that the answer gives no end for: silent period, hold, expired; null: another state. */
  stateUntil: instant.nullable(),
  /** When the latest order was paid; null: none was. */
  orderedAt: instant.nullable(),
});
export type SubscriptionTerms = Readonly<z.output<typeof subscriptionTerms>>;

/**
 * Time within which a purchase must be acknowledged: three days, or three minutes for a licence tester. For test
 * subscriptions the same page also says five; the shorter one applies here.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 * @see https://developer.android.com/google/play/billing/test
 */
const ACKNOWLEDGEMENT = { paid: 3 * DAY, test: 3 * MINUTE };

/** Prepaid plans shorter than this must be acknowledged within half of the plan. */
const SHORT_PLAN = 7 * DAY;

/** Time for which the store still answers about an expired subscription, in days, as a duration. */
export const KEPT_AFTER_EXPIRY = "P60D";

/**
 * Time at which the store refunds an unacknowledged purchase.
 *
 * @param prepaidUntil end of what was bought, of a prepaid plan; null: another purchase
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#prepaid-plans
 */
export const acknowledgeBy = (
  paidAt: Instant,
  { test, prepaidUntil }: { readonly test: boolean; readonly prepaidUntil: Instant | null },
): Instant => {
  const usual = test ? ACKNOWLEDGEMENT.test : ACKNOWLEDGEMENT.paid;
  const plan = prepaidUntil === null ? Infinity : prepaidUntil - paidAt;
  return paidAt + (plan < SHORT_PLAN ? Math.min(usual, Math.floor(plan / 2)) : usual);
};
