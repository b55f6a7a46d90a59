import type { Status, Store } from "../contract/schemas.ts";
import { HOUR } from "../duration.ts";
import type { Access } from "./access.ts";
import type { Moment } from "./moment.ts";
import type { Line } from "./purchase.ts";
import { BILLING_RETRY_MILLISECONDS, graceEndOf, isUndecided, type Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/**
 * Google's silent grace period: after a subscription's end Google retries the payment for a day or two, and still
 * reports it as active. Access lasts this much longer if Google was asked after that end.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#silent-grace-period
 */
const SILENT_RETRY_MILLISECONDS = 48 * HOUR;

/** Whether Google reported a renewing line after its end: it is then retrying the payment. */
export const isRetriedSilently = (store: Store, { endsAt, verifiedAt, willRenew }: Line): boolean =>
  store === "android-store" && willRenew === true && endsAt !== null && verifiedAt >= endsAt;

/** Whether the App Store reports a later end: the line was renewed, but the renewal's transaction is not known yet. */
const isRenewedUnseen = ({ endsAt }: Line, { periodEndsAt, isInBillingRetry }: Renewal): boolean =>
  (periodEndsAt ?? 0) > (endsAt ?? Infinity) && !isInBillingRetry;

/**
 * Whether a line may have been renewed: the store said that it would renew, and has said nothing else since its end. A
 * later signed copy of an App Store transaction says nothing about its renewal, and a renewal info that still says that
 * it will renew leaves it open.
 */
const mayBeRenewed = (store: Store, line: Line, renewal: Renewal | null): boolean => {
  const { willRenew, endsAt, verifiedAt } = line;
  if (renewal !== null && (isRenewedUnseen(line, renewal) || isUndecided(renewal))) return true;
  const lastWord = store === "android-store" ? verifiedAt : (renewal?.signedAt ?? Infinity);
  return willRenew === true && endsAt !== null && lastWord < endsAt;
};

/** Whether the App Store has said nothing of the renewal of this subscription period; what it said of another one is no word on it. */
const isUnspokenOf = (store: Store, { nature }: Line, renewal: Renewal | null): boolean =>
  store === "ios-store" && nature === "auto_renewable" && renewal === null;

/** Status of an App Store line after its end; a grace period precedes the billing retries. */
const statusAfterEnd = (moment: Moment, endsAt: Instant, renewal: Renewal): Status => {
  if (!moment.hasCome(graceEndOf(endsAt, renewal) ?? 0)) return "grace_period";
  return renewal.isInBillingRetry && !moment.hasCome(endsAt + BILLING_RETRY_MILLISECONDS)
    ? "billing_retry"
    : "expired";
};

/**
 * Access is half-open: [start, end). A revocation precedes everything else.
 *
 * @param assumesRenewals whether an App Store subscription of whose renewal nothing is known counts as one that will renew
 */
export const statusAt = (
  moment: Moment,
  { holding, line, renewal, ends }: Access,
  renewalLeeway: number,
  assumesRenewals = false,
): Status => {
  const { store } = holding.purchase;
  if (line.standing === "revoked" || (line.revokedAt !== null && moment.hasCome(line.revokedAt)))
    return "revoked";
  switch (line.standing) {
    case "expired":
    case "paused":
    case "billing_retry":
      return line.standing;
    case "grace_period":
    case "entitled": {
      const standing = line.standing === "entitled" ? "active" : "grace_period";
      if (renewal !== null && line.endsAt !== null && moment.hasCome(line.endsAt)) {
        const status = statusAfterEnd(moment, line.endsAt, renewal);
        const isLenient = status !== "grace_period" && mayBeRenewed(store, line, renewal);
        return isLenient && !moment.hasCome(line.endsAt + renewalLeeway) ? "active" : status;
      }
      const longer = isRetriedSilently(store, line)
        ? SILENT_RETRY_MILLISECONDS
        : mayBeRenewed(store, line, renewal) || (assumesRenewals && isUnspokenOf(store, line, renewal))
          ? renewalLeeway
          : 0;
      return ends !== null && moment.hasCome(ends + longer) ? "expired" : standing;
    }
  }
};
