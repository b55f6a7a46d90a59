import type { CustomerEntitlement, Environment } from "../contract/schemas.ts";
import { DAY, HOUR } from "../duration.ts";
import { compare } from "../order.ts";
import { grantingLines, isRevoked, lineOrder, productKindOf, type Line, type Purchase } from "./purchase.ts";
import { isSaidOver } from "./renewal.ts";
import { CHARGED_AHEAD_MILLISECONDS, periodsOf, unseenEnd, type Period } from "./subscription-periods.ts";
import {
  givesAccess,
  holdingOrder,
  spansAt,
  timelineOf,
  type Holding,
  type Span,
  type Terms,
} from "./timeline.ts";
import { isoTime, type Instant } from "./time.ts";

/** Whether access may return by itself, once the payment succeeds or the pause ends. */
export const mayReturn = ({ status }: Span): boolean => status === "billing_retry" || status === "paused";

/** End of access, as a sort key. A revocation without a date sorts by the start, the latest time known. */
export const lastAccess = ({ status, line, expiresAt, startsAt }: Span): number =>
  status === "revoked" && line.revokedAt === null ? (startsAt ?? 0) : expiresAt;

const ENVIRONMENT_RANK: Record<Environment, number> = { production: 0, sandbox: 1, xcode: 2 };

/**
 * Active first, then by environment. Among inactive spans, those that may return come first, then those that a
 * credential linked. Then lifetime, the later end, the later start, the smaller purchase key; the rest makes the
 * order total.
 */
const spanOrder = (a: Span, b: Span): number =>
  Number(givesAccess(b)) - Number(givesAccess(a)) ||
  ENVIRONMENT_RANK[a.holding.purchase.environment] - ENVIRONMENT_RANK[b.holding.purchase.environment] ||
  (givesAccess(a)
    ? 0
    : Number(mayReturn(b)) - Number(mayReturn(a)) ||
      Number(b.holding.assertedBy === "credential") - Number(a.holding.assertedBy === "credential")) ||
  compare(lastAccess(b), lastAccess(a)) ||
  compare(b.startsAt ?? -Infinity, a.startsAt ?? -Infinity) ||
  holdingOrder(a.holding, b.holding) ||
  compare(a.line.productIdentifier, b.line.productIdentifier) ||
  lineOrder(a.line, b.line);

export const bestSpans = (spans: readonly Span[]): ReadonlyMap<string, Span> => {
  const best = new Map<string, Span>();
  for (const span of spans)
    for (const identifier of span.product.grants) {
      const shown = best.get(identifier);
      if (shown === undefined || spanOrder(span, shown) < 0) best.set(identifier, span);
    }
  return best;
};

const nullableTime = (instant: Instant | null): string | null =>
  instant === null || instant === Infinity ? null : isoTime(instant);

const present = (identifier: string, displayName: string | undefined, span: Span): CustomerEntitlement => {
  const { holding, line, status, startsAt, expiresAt, willRenew, verifiedAt } = span;
  return {
    identifier,
    displayName: displayName ?? identifier,
    productIdentifier: line.productIdentifier,
    environment: holding.purchase.environment,
    status,
    active: givesAccess(span),
    startsAt: nullableTime(startsAt),
    expiresAt: nullableTime(expiresAt),
    revokedAt: nullableTime(status === "revoked" ? line.revokedAt : null),
    lastVerifiedAt: isoTime(verifiedAt),
    store: holding.purchase.store,
    productKind: productKindOf(line.nature),
    customerIdentifier: holding.customerIdentifier,
    willRenew,
  };
};

const answerAt = (moment: Instant, timeline: readonly Span[], { catalog }: Terms): CustomerEntitlement[] =>
  [...bestSpans(spansAt(moment, timeline))]
    .sort(([a], [b]) => compare(a, b))
    .map(([identifier, span]) => present(identifier, catalog.displayNames.get(identifier), span));

/** Entries of all that purchases grant or granted, sorted by identifier, each with its best span: always the same bytes. */
export const entitlementsAt = (
  moment: Instant,
  holdings: readonly Holding[],
  terms: Terms,
): CustomerEntitlement[] => answerAt(moment, timelineOf(holdings, terms), terms);

/** Boundaries at which {@link nextChangeAt} compares answers, for a bounded time. */
const BOUNDARIES_COMPARED = 50;

/**
 * Earliest instant after `moment` at which time alone changes the answer of {@link entitlementsAt}, `lastVerifiedAt`
 * aside; null: never. Where fifty boundaries of what is not shown come first, the next one, at which nothing changes.
 */
export const nextChangeAt = (moment: Instant, holdings: readonly Holding[], terms: Terms): Instant | null => {
  const timeline = timelineOf(holdings, terms);
  const toldAt = (at: Instant): string =>
    JSON.stringify(answerAt(at, timeline, terms).map((entry) => ({ ...entry, lastVerifiedAt: null })));
  const boundaries = [...new Set(timeline.flatMap(({ from, to }) => [from, to]))]
    .filter((at) => at > moment && at < Infinity)
    .sort((a, b) => a - b);
  const told = toldAt(moment);
  const changed = boundaries.slice(0, BOUNDARIES_COMPARED).find((at) => toldAt(at) !== told);
  return changed ?? boundaries[BOUNDARIES_COMPARED] ?? null;
};

/** Time after an end for which its renewal may not be known yet. */
const UNSURE_MILLISECONDS = 48 * HOUR;

const isLongPast = (end: Instant, now: Instant): boolean => end + UNSURE_MILLISECONDS <= now;

/** One whose end is only inferred lasts until the store's own end; a refunded one may be renewed at its end. */
const isPeriodOver = ({ line, endsAt, cutAt, isCutInferred, renewal }: Period, now: Instant): boolean => {
  if (cutAt <= now && !isCutInferred) return true;
  if (line.revokedAt !== null && now < endsAt - CHARGED_AHEAD_MILLISECONDS) return true;
  const isOver = renewal !== null && isSaidOver(renewal, endsAt);
  return isOver || isLongPast(endsAt, now);
};

/**
 * Three months. A pause begins at the paid end, and ends by itself.
 *
 * @see https://developer.android.com/google/play/billing/lifecycle/subscriptions#pauses
 */
const LONGEST_PAUSE_MILLISECONDS = 92 * DAY;

/** Whether Google, or a one-time purchase's dates, call a line over. */
const isLineOver = (line: Line, now: Instant): boolean => {
  const pause = line.standing === "paused" ? LONGEST_PAUSE_MILLISECONDS : 0;
  return (
    isRevoked(line) || line.standing === "expired" || isLongPast((line.endsAt ?? -Infinity) + pause, now)
  );
};

/** Whether the upgrade that the last period's mark tells of is known, or over for certain. */
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
 * Whether nothing gives access now or later, and the store has called over what ended within two days: only then may
 * a customer be moved to another account.
 */
export const isInactive = (now: Instant, holdings: readonly Holding[], terms: Terms): boolean =>
  holdings.every(({ purchase }) => isPurchaseOver(purchase, now)) &&
  !timelineOf(holdings, terms).some((span) => span.to > now && givesAccess(span));
