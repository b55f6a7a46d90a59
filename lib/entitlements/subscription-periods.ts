import { HOUR, MINUTE } from "../duration.ts";
import { compare } from "../order.ts";
import { decided, eventsOf } from "./join.ts";
import { lineOrder, type Line, type Purchase } from "./purchase.ts";
import { reportsFailure, type Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/** Longest time before a period's start at which its renewal is charged; a day is usual. */
export const CHARGED_AHEAD_MILLISECONDS = 48 * HOUR;

/** The App Store may date one end differently by less than a minute. */
const SAME_END_MILLISECONDS = MINUTE;

/** A period of an App Store subscription. A subscription has one period at a time. */
export interface Period {
  readonly line: Line;
  readonly from: Instant;
  /** The store's own end. */
  readonly endsAt: Instant;
  /** Where another period, or the mark of an upgrade, ended it; Infinity: nothing has. */
  readonly cutAt: Instant;
  /** Whether only the next period's start tells that it was cut: the store has neither marked nor signed it since. */
  readonly isCutInferred: boolean;
  /** Whether its renewal, charged ahead of its end, is known. */
  readonly isRenewed: boolean;
  /** The renewal info, where it is about this period. */
  readonly renewal: Renewal | null;
}

interface Dated {
  readonly line: Line;
  readonly startsAt: Instant;
  readonly endsAt: Instant;
}

export const isPeriod = ({ nature }: Line): boolean => nature === "auto_renewable";

export const isSameEnd = (a: Instant, b: Instant): boolean => Math.abs(a - b) <= SAME_END_MILLISECONDS;

/** A copy restored after the end does not show when its period began, only that it began before its end. */
const dated = (line: Line): Dated => {
  const endsAt = line.endsAt ?? Infinity;
  return { line, startsAt: Math.min(line.startsAt ?? 0, endsAt), endsAt };
};

const isMarked = ({ line }: Dated): boolean => line.standing === "expired";

/**
 * A restored copy is dated by its restoration. One dated after its end, or marked as upgraded with nothing begun
 * since, began before the period that it lies within.
 */
const placedBefore = (period: Dated, all: readonly Dated[]): Dated => {
  const { startsAt, endsAt } = period;
  const isLast = all.every((one) => one === period || one.startsAt < startsAt);
  const other = all.find((one) => one.startsAt < startsAt && endsAt < one.endsAt);
  return other !== undefined && (startsAt === endsAt || (isMarked(period) && isLast))
    ? { ...period, startsAt: other.startsAt }
    : period;
};

/**
 * Whether `upgrade` was bought after the charge of `period` and before its start, so that `period` never ran. The
 * store's mark tells, or its renewal info that names the upgrade's end, or that the upgrade was bought within the
 * period that ended at this one's start.
 */
const isOvertakenBy = (
  upgrade: Dated,
  period: Dated,
  all: readonly Dated[],
  renewal: Renewal | null,
): boolean => {
  const { line, startsAt, endsAt } = period;
  const isBoughtBefore =
    upgrade.line.productIdentifier !== line.productIdentifier &&
    upgrade.startsAt < startsAt &&
    upgrade.startsAt >= startsAt - CHARGED_AHEAD_MILLISECONDS &&
    upgrade.endsAt > startsAt &&
    (upgrade.line.revokedAt ?? Infinity) > startsAt;
  if (!isBoughtBefore) return false;
  const charged = Math.min(line.verifiedAt, startsAt);
  const isNamed =
    !isMarked(upgrade) &&
    renewal?.periodEndsAt != null &&
    isSameEnd(renewal.periodEndsAt, upgrade.endsAt) &&
    !isSameEnd(renewal.periodEndsAt, endsAt) &&
    renewal.signedAt >= charged;
  const isWithinLast = all.some((before) => before.endsAt === startsAt && before.startsAt < upgrade.startsAt);
  return isMarked(period) || isNamed || isWithinLast;
};

/** Not those refunded before they began, nor those that an upgrade overtook. */
const periodsThatRan = (all: readonly Dated[], renewal: Renewal | null): readonly Dated[] => {
  const ran: Dated[] = [];
  for (const period of all) {
    const isRefundedBefore = period.line.revokedAt !== null && period.line.revokedAt <= period.startsAt;
    const isOvertaken = ran.some((upgrade) => isOvertakenBy(upgrade, period, all, renewal));
    if (!isRefundedBefore && !isOvertaken) ran.push(period);
  }
  return ran;
};

/**
 * The period that a renewal info is about: the one whose end it names, otherwise the last one that had begun when it
 * was signed; of a payment that failed, the last one that had ended by then.
 */
const statedPeriod = (renewal: Renewal, periods: readonly Dated[]): Dated | undefined => {
  const named = periods.findLast(
    (period) => renewal.periodEndsAt !== null && isSameEnd(period.endsAt, renewal.periodEndsAt),
  );
  if (named !== undefined) return named;
  const begun = periods.filter(({ startsAt }) => startsAt <= renewal.signedAt);
  const last = begun.at(-1);
  const hasFailed = last !== undefined && reportsFailure(renewal, last.endsAt);
  return hasFailed
    ? (begun.findLast(({ endsAt }) => endsAt <= renewal.signedAt + CHARGED_AHEAD_MILLISECONDS) ?? last)
    : last;
};

/** Whether another period ends this one: not what was bought within it during a refund that was taken back since. */
const isEndedBy = ({ line, endsAt }: Dated, { startsAt }: Dated): boolean => {
  const { revokedSince, revokedAt, verifiedAt } = line;
  const isGivenBack = revokedSince !== null && revokedAt === null;
  return startsAt >= endsAt || !(isGivenBack && revokedSince <= startsAt && startsAt <= verifiedAt);
};

/** Start of access. Of a renewal charged ahead, with nothing known before it, its signing: only what runs is renewed. */
const accessStart = (
  { line, startsAt }: Dated,
  all: readonly Dated[],
  { key, environment }: Purchase,
): Instant => {
  const isRenewalAhead =
    line.transactionIdentifier !== key &&
    environment !== "xcode" &&
    line.standing === "entitled" &&
    line.verifiedAt < startsAt &&
    startsAt - line.verifiedAt <= CHARGED_AHEAD_MILLISECONDS;
  const isKnownBefore = all.some(
    (other) => other.startsAt < startsAt && other.endsAt >= startsAt - SAME_END_MILLISECONDS,
  );
  return isRenewalAhead && !isKnownBefore ? line.verifiedAt : startsAt;
};

const byStart = (a: Dated, b: Dated): number =>
  compare(a.startsAt, b.startsAt) ||
  lineOrder({ ...a.line, startsAt: a.startsAt }, { ...b.line, startsAt: b.startsAt });

/**
 * Periods of an App Store subscription, oldest first, never two at a time: each ends at its own end, or where the next
 * one begins. Those that never ran are left out.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/isupgraded
 */
export const periodsOf = (purchase: Purchase): readonly Period[] => {
  const { renewal, replacedAt } = purchase;
  const told = eventsOf(purchase.lines.filter(isPeriod)).map((event) => dated(decided(event)));
  const all = told.map((period) => placedBefore(period, told)).sort(byStart);
  const ran = periodsThatRan(all, renewal);
  const stated = renewal === null ? undefined : statedPeriod(renewal, ran);
  return ran.map((period, index): Period => {
    const { line, startsAt, endsAt } = period;
    const next = ran.slice(index + 1).find((other) => isEndedBy(period, other));
    const nextStart = next?.startsAt ?? Infinity;
    const markedAt = isMarked(period) ? line.verifiedAt : Infinity;
    const movedAt = replacedAt !== null && startsAt < replacedAt ? replacedAt : Infinity;
    const cutAt = Math.min(nextStart, markedAt, movedAt);
    return {
      line,
      from: accessStart(period, all, purchase),
      endsAt,
      cutAt,
      isCutInferred:
        nextStart < endsAt && !isMarked(period) && line.revokedAt === null && line.verifiedAt < nextStart,
      isRenewed:
        next !== undefined && nextStart === endsAt && next.line.revokedAt === null && !isMarked(next),
      renewal: next === undefined && stated === period && cutAt >= endsAt ? renewal : null,
    };
  });
};

/**
 * End that the renewal info names, of a paid period whose transaction has not come; null: none. It is later than any
 * end that stands. While a payment fails, the named date may be the next attempt.
 */
export const unseenEnd = ({ renewal, lines }: Purchase, periods: readonly Period[]): Instant | null => {
  const named = renewal?.periodEndsAt ?? null;
  if (renewal === null || named === null || reportsFailure(renewal, named)) return null;
  const isKnown = lines.some((line) => isPeriod(line) && isSameEnd(line.endsAt ?? Infinity, named));
  const isLast = periods.every(
    ({ line, endsAt, cutAt }) => line.revokedAt !== null || cutAt < endsAt || endsAt < named,
  );
  return isLast && !isKnown ? named : null;
};
