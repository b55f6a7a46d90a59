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
  readonly graceEndsAt: Instant | null;
  readonly isInBillingRetry: boolean;
  /** Apple's number for the reason why the subscription expires or expired; null: none. */
  readonly expirationIntent: number | null;
  readonly signedAt: Instant;
  /** Last status that came beside a renewal info of the lineage; null: none has. An app sends none. */
  readonly status: RenewalStatus | null;
  /** Values that a newer version stored with it; kept as they are. */
  readonly further?: readonly unknown[];
}

/** Whether a billing grace period runs, as notifications and answers say beside a renewal info. */
export interface RenewalStatus {
  readonly isInGrace: boolean;
  /** `periodEndsAt` of that renewal info: the status says nothing of another period. */
  readonly periodEndsAt: Instant | null;
  readonly signedAt: Instant;
}

const infoText = (renewal: Renewal): string =>
  JSON.stringify([
    renewal.periodEndsAt,
    renewal.willRenew,
    renewal.renewsInto,
    renewal.graceEndsAt,
    renewal.isInBillingRetry,
    renewal.expirationIntent,
    renewal.signedAt,
  ]);

const statusText = (status: RenewalStatus | null): string =>
  JSON.stringify(status && [status.isInGrace, status.periodEndsAt, status.signedAt]);

const later = <T extends { readonly signedAt: Instant }>(a: T, b: T, textOf: (one: T) => string): T =>
  (compare(a.signedAt, b.signedAt) || compare(textOf(a), textOf(b))) > 0 ? a : b;

/** The later signed renewal info, and the later signed status. */
export const laterRenewal = (a: Renewal | null, b: Renewal | null): Renewal | null => {
  if (a === null || b === null) return a ?? b;
  const status =
    a.status === null || b.status === null ? (a.status ?? b.status) : later(a.status, b.status, statusText);
  return { ...later(a, b, infoText), status };
};

export const sameRenewal = (a: Renewal | null, b: Renewal | null): boolean =>
  a === b ||
  (a !== null && b !== null && infoText(a) === infoText(b) && statusText(a.status) === statusText(b.status));

/**
 * The App Store's longest billing grace period.
 *
 * @see https://developer.apple.com/help/app-store-connect/manage-subscriptions/enable-billing-grace-period-for-auto-renewable-subscriptions
 */
const LONGEST_GRACE_MILLISECONDS = 28 * DAY;

/**
 * End of the billing grace period after a period's end; null: none. Apple has been seen to leave the date out: the
 * grace period that the status tells then lasts until the store says otherwise, at most the longest.
 */
export const graceEndOf = (
  endsAt: Instant,
  { graceEndsAt, periodEndsAt, status }: Renewal,
): Instant | null => {
  if (graceEndsAt !== null) return graceEndsAt > endsAt ? graceEndsAt : null;
  const isInGrace = status !== null && status.isInGrace && status.periodEndsAt === periodEndsAt;
  return isInGrace ? endsAt + LONGEST_GRACE_MILLISECONDS : null;
};

/** Whether it reports a failed payment, by its fields or by a grace period after an end. */
export const reportsFailure = (renewal: Renewal, endsAt: Instant): boolean =>
  renewal.isInBillingRetry || graceEndOf(endsAt, renewal) !== null;

/** Whether it only says that the subscription will renew. Signed after the end: the App Store has not renewed yet. */
export const isUndecided = (renewal: Renewal, endsAt: Instant): boolean =>
  renewal.willRenew && !reportsFailure(renewal, endsAt) && renewal.expirationIntent === null;

/** Longest time for which the App Store retries a payment after a period's end. */
export const BILLING_RETRY_MILLISECONDS = 60 * DAY;

/** Whether the App Store said at or after an end that the subscription is over. */
export const isSaidOver = (renewal: Renewal, endsAt: Instant): boolean => {
  const graceEndsAt = graceEndOf(endsAt, renewal) ?? 0;
  return (
    renewal.signedAt >= endsAt &&
    !renewal.willRenew &&
    !renewal.isInBillingRetry &&
    graceEndsAt <= renewal.signedAt
  );
};
