import { HOUR } from "../duration.ts";
import type { Holding } from "./holding.ts";
import { grantingLines, isRevoked, type Line, type Purchase } from "./purchase.ts";
import { graceEndOf, type Renewal } from "./renewal.ts";
import { CHARGED_AHEAD_MILLISECONDS, periodsOf, unseenEnd, type Period } from "./subscription-periods.ts";
import type { Instant } from "./time.ts";
import { givesAccess, timelineOf, type Terms } from "./timeline.ts";

/** Time after an end for which a renewal may not have been told yet. */
const UNSURE_MILLISECONDS = 48 * HOUR;

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

const isLongPast = (end: Instant, now: Instant): boolean => end + UNSURE_MILLISECONDS <= now;

/**
 * Whether a period is over for certain. One whose end is only inferred lasts until the store's own end; a refunded one may
 * be renewed at its end.
 */
const isPeriodOver = ({ line, endsAt, cutAt, isCutInferred, renewal }: Period, now: Instant): boolean => {
  if (cutAt <= now && !isCutInferred) return true;
  if (line.revokedAt !== null && now < endsAt - CHARGED_AHEAD_MILLISECONDS) return true;
  const isOver = renewal !== null && isSaidOver(renewal, endsAt);
  return isOver || isLongPast(endsAt, now);
};

/** Whether Google, or a one-time purchase's dates, call a line over. */
const isLineOver = (line: Line, now: Instant): boolean =>
  isRevoked(line) || line.standing === "expired" || isLongPast(line.endsAt ?? -Infinity, now);

/** Whether the upgrade that a mark tells of is known, or over for certain. */
const isUpgradeKnown = (periods: readonly Period[], now: Instant): boolean => {
  const last = periods.at(-1);
  return last === undefined || last.line.standing !== "expired" || isLongPast(last.endsAt, now);
};

const isPurchaseOver = (purchase: Purchase, now: Instant): boolean => {
  if (purchase.store === "android-store")
    return grantingLines(purchase).every((line) => isLineOver(line, now));
  const periods = periodsOf(purchase);
  return (
    isUpgradeKnown(periods, now) &&
    periods.every((period) => isPeriodOver(period, now)) &&
    isLongPast(unseenEnd(purchase, periods) ?? -Infinity, now)
  );
};

/**
 * Whether nothing of the holdings gives access now or later, and the store has called over, since its end, what ended
 * within two days: only then may a customer be moved to another account.
 */
export const isInactive = (now: Instant, holdings: readonly Holding[], terms: Terms): boolean =>
  holdings.every(({ purchase }) => isPurchaseOver(purchase, now)) &&
  !timelineOf(holdings, terms).some((span) => span.to > now && givesAccess(span));
