import { DAY, HOUR, MINUTE, SECOND } from "../duration.ts";

/** Integer milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

/** Last instant with a four-digit ISO 8601 year; a larger value is not a time. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const isInstant = (value: unknown): value is Instant =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= LAST_INSTANT;

/** ISO 8601 in UTC with milliseconds, the format of times in answers. */
export const isoTime = (instant: Instant): string => new Date(instant).toISOString();

/** A calendar period, from an ISO 8601 duration: `P1M`, `P1W`, `PT36H`. */
export interface Period {
  readonly months: number;
  readonly milliseconds: number;
}

const PERIOD =
  /^P(?=\d|T\d)(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/;

/** Parses an ISO 8601 duration with integer parts; null where it is malformed or zero. */
export const parsePeriod = (text: string): Period | null => {
  const match = PERIOD.exec(text);
  if (match === null) return null;
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0));
  const period = {
    months: years * 12 + months,
    milliseconds: (weeks * 7 + days) * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND,
  };
  return period.months === 0 && period.milliseconds === 0 ? null : period;
};

/** Multiplies a period: two months from 31 December end on the last day of February. */
export const times = (count: number, { months, milliseconds }: Period): Period => ({
  months: months * count,
  milliseconds: milliseconds * count,
});

/**
 * Adds a period, in UTC. Months keep the day of the month, or fall back to the last day of a shorter month, as both
 * stores bill: `P1M` after 31 January is 28 or 29 February. Capped at the end of the year 9999.
 */
export const plusPeriod = (instant: Instant, period: Period): Instant => {
  const start = new Date(instant);
  const lastDay = new Date(
    Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + period.months + 1, 0),
  ).getUTCDate();
  const moved = new Date(instant);
  moved.setUTCDate(1);
  moved.setUTCMonth(start.getUTCMonth() + period.months);
  moved.setUTCDate(Math.min(start.getUTCDate(), lastDay));
  const end = moved.getTime() + period.milliseconds;
  return isInstant(end) ? end : LAST_INSTANT;
};
