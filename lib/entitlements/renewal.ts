import { DAY } from "../duration.ts";
import { compare } from "../order.ts";
import type { Instant } from "./time.ts";

/**
 * Renewal info: the App Store's statement on a lineage's next renewal.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
 */
export interface Renewal {
  /** End of the period that it is about, the most recent one when it was signed; null where the store does not say. */
  readonly periodEndsAt: Instant | null;
  readonly willRenew: boolean;
  /** Product that the next period has; null where the store does not say. */
  readonly renewsInto: string | null;
  /** End of the billing grace period; null: none. */
  readonly graceEndsAt: Instant | null;
  readonly isInBillingRetry: boolean;
  /** Apple's number for the reason why the subscription expires or expired; null: none. */
  readonly expirationIntent: number | null;
  /** Whether the status delivered with it says that a billing grace period runs. An app has no status. */
  readonly isInGrace: boolean;
  readonly signedAt: Instant;
  /** Values that a newer version stored with it; kept as they are. */
  readonly further?: readonly unknown[];
}

const textOf = (renewal: Renewal): string =>
  JSON.stringify([
    renewal.periodEndsAt,
    renewal.willRenew,
    renewal.renewsInto,
    renewal.graceEndsAt,
    renewal.isInBillingRetry,
    renewal.expirationIntent,
    renewal.signedAt,
    renewal.isInGrace,
  ]);

/**
 * The later signed one; ties are broken deterministically. Of two copies of one renewal info, the one with a grace
 * period.
 */
export const laterRenewal = (a: Renewal | null, b: Renewal | null): Renewal | null => {
  if (a === null || b === null) return a ?? b;
  const order = compare(a.signedAt, b.signedAt) || compare(textOf(a), textOf(b));
  return order > 0 ? a : b;
};

export const sameRenewal = (a: Renewal | null, b: Renewal | null): boolean =>
  a === b || (a !== null && b !== null && textOf(a) === textOf(b));

/**
 * Whether it only says that the subscription will renew: no failed payment, and no reason to expire. Signed after the
 * end, it means that the App Store has not renewed yet.
 */
export const isUndecided = ({
  willRenew,
  isInBillingRetry,
  graceEndsAt,
  expirationIntent,
  isInGrace,
}: Renewal): boolean =>
  willRenew && !isInBillingRetry && graceEndsAt === null && !isInGrace && expirationIntent === null;

/**
 * The App Store's longest billing grace period.
 *
 * @see https://developer.apple.com/help/app-store-connect/manage-subscriptions/enable-billing-grace-period-for-auto-renewable-subscriptions
 */
const LONGEST_GRACE_MILLISECONDS = 28 * DAY;

/**
 * End of the billing grace period after a period's end; null: none. Apple has been seen to leave it out: it then lasts
 * until the store says otherwise, at most the longest.
 */
export const graceEndOf = (endsAt: Instant, { graceEndsAt, isInGrace }: Renewal): Instant | null =>
  graceEndsAt ?? (isInGrace ? endsAt + LONGEST_GRACE_MILLISECONDS : null);

/** Longest time for which the App Store retries a payment after a period's end. */
export const BILLING_RETRY_MILLISECONDS = 60 * DAY;
