import { compare } from "../order.ts";
import type { Line } from "./purchase.ts";
import type { Renewal } from "./renewal.ts";
import type { Instant } from "./time.ts";

const isPeriod = ({ nature }: Line): boolean => nature === "auto_renewable";

const endOf = ({ endsAt }: Line): number => endsAt ?? Infinity;

/** Of several that end together the last in the order of the lines. */
const endsLast = (periods: readonly Line[]): Line | undefined =>
  periods.toSorted((a, b) => compare(endOf(a), endOf(b))).at(-1);

/** A copy restored after the end does not tell when its period began: before its end, at least. */
const beganBy = (moment: Instant, period: Line): boolean =>
  Math.min(period.startsAt ?? 0, endOf(period)) <= moment;

/**
 * The period that a renewal info speaks of: the one that ends at its renewal date, otherwise the last one that had begun
 * when it was signed. It never judges a later one, so an old word of a failing payment does not end what was paid since.
 *
 * @param lines of the lineage's events, oldest first
 */
export const periodOf = (renewal: Renewal, lines: readonly Line[]): Line | undefined => {
  const periods = lines.filter(isPeriod);
  return (
    endsLast(
      periods.filter(({ endsAt, standing }) => endsAt === renewal.periodEndsAt && standing === "entitled"),
    ) ?? endsLast(periods.filter((period) => beganBy(renewal.signedAt, period)))
  );
};

/** Whether another period of the lineage ends later, so that this one was renewed or replaced. */
export const isSucceeded = (period: Line, lines: readonly Line[]): boolean =>
  lines.some((other) => isPeriod(other) && endOf(other) > endOf(period));
