import { HOUR } from "../duration.ts";
import { compare } from "../order.ts";
import { CLOCK_TOLERANCE_MILLISECONDS } from "./moment.ts";
import type { Line } from "./purchase.ts";
import type { Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

/** Longest time before a period's end at which its renewal, charged ahead of time, begins; a day is usual. */
export const CHARGED_AHEAD_MILLISECONDS = 48 * HOUR;

/** Whether a line is a period of a subscription. */
export const isPeriod = ({ nature }: Line): boolean => nature === "auto_renewable";

/** Whether a period was refunded before it began, so that it never ran. */
export const neverBegan = ({ revokedAt, startsAt }: Line): boolean =>
  revokedAt !== null && revokedAt <= (startsAt ?? 0);

const endOf = ({ endsAt }: Line): number => endsAt ?? Infinity;

/** A copy restored after the end does not show when its period began, only that it began before its end. */
export const beganBy = (period: Line): number => Math.min(period.startsAt ?? 0, endOf(period));

/** The period that began last; if several began together, the last one in the order of the lines. */
export const beganLast = (periods: readonly Line[]): Line | undefined =>
  periods.toSorted((a, b) => compare(beganBy(a), beganBy(b))).at(-1);

/** Whether it reports a failed payment, by its words or by a grace period. */
export const reportsFailure = ({ isInBillingRetry, isInGrace, graceEndsAt }: Renewal): boolean =>
  isInBillingRetry || isInGrace || graceEndsAt !== null;

/**
 * The period that a renewal info is about: the one that ends at its renewal date, otherwise the last one that had begun
 * when it was signed. Of a payment that failed, it is the last one that was over then, or was to be within two days. It never
 * applies to a later one, so an old report of a failing payment does not end a period paid since, nor the one that recovered
 * it, which begins at the end of the one before.
 *
 * @param lines of the lineage's events, oldest first
 */
export const periodOf = (renewal: Renewal, lines: readonly Line[]): Line | undefined => {
  const periods = lines.filter(isPeriod);
  const begun = periods.filter((period) => beganBy(period) <= renewal.signedAt);
  return (
    beganLast(
      periods.filter(({ endsAt, standing }) => endsAt === renewal.periodEndsAt && standing === "entitled"),
    ) ??
    (reportsFailure(renewal)
      ? beganLast(begun.filter((period) => endOf(period) <= renewal.signedAt + CHARGED_AHEAD_MILLISECONDS))
      : undefined) ??
    beganLast(begun)
  );
};

/** Whether two ends are of one period: the store may date it differently by less than a minute. */
export const isSameEnd = (a: Instant | null, b: Instant | null): boolean =>
  a === b || (a !== null && b !== null && Math.abs(a - b) <= CLOCK_TOLERANCE_MILLISECONDS);

/**
 * End that a renewal info names, of whose period no transaction is known; null: there is none.
 *
 * @param lines of the lineage, or copies of its events
 */
export const untoldEndOf = (renewal: Renewal | null, lines: readonly Line[]): Instant | null => {
  const named = renewal?.periodEndsAt ?? null;
  return lines.some((line) => isPeriod(line) && isSameEnd(line.endsAt, named)) ? null : named;
};

/** Whether a period was refunded before the start of another and given back: the other may be a separate purchase, and no upgrade. */
export const isGivenBackBeside = (period: Line, { startsAt }: Line): boolean =>
  period.standing !== "expired" &&
  period.revokedAt === null &&
  Math.min(period.refundedBy ?? Infinity, period.revokedSince ?? Infinity) <= (startsAt ?? 0);

/**
 * Whether a later period of the lineage succeeded this one: a renewal, or a period that took its place. One that began
 * before this one does not count, however late it would have ended: this one took its place. Nor does one that was
 * refunded before it began, or was bought beside this one.
 */
export const isSucceeded = (period: Line, lines: readonly Line[]): boolean =>
  lines.some(
    (other) =>
      isPeriod(other) &&
      !neverBegan(other) &&
      endOf(other) > endOf(period) &&
      !(isGivenBackBeside(period, other) && beganBy(other) < endOf(period)) &&
      (beganBy(other) > beganBy(period) ||
        (beganBy(other) === beganBy(period) && other.standing !== "expired")),
  );
