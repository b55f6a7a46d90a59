/** A moment: milliseconds since 1970-01-01T00:00:00Z, an integer. */
export type Instant = number;

/** The last moment that ISO 8601 writes with a year of four digits; a larger value is not a time. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const isInstant = (value: unknown): value is Instant =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= LAST_INSTANT;

/** ISO 8601 in UTC with milliseconds, as answers show it. */
export const isoTime = (instant: Instant): string => new Date(instant).toISOString();

/** A calendar period, as ISO 8601 durations write it: `P1M`, `P1W`, `PT36H`. */
export interface Period {
  readonly months: number;
  readonly milliseconds: number;
}

const PERIOD =
  /^P(?=\d|T\d)(?:(\d{1,4})Y)?(?:(\d{1,5})M)?(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** Reads an ISO 8601 duration of whole parts, longer than nothing; null where the text is none. */
export const parsePeriod = (text: string): Period | null => {
  const match = PERIOD.exec(text);
  if (match === null) return null;
  const [years, months, weeks, days, hours, minutes, seconds] = match
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const period = {
    months: years * 12 + months,
    milliseconds: (weeks * 7 + days) * DAY + hours * HOUR + minutes * 60 * SECOND + seconds * SECOND,
  };
  return period.months === 0 && period.milliseconds === 0 ? null : period;
};

/** Several periods as one: two months from 31 December end with February. */
export const times = (count: number, { months, milliseconds }: Period): Period => ({
  months: months * count,
  milliseconds: milliseconds * count,
});

/**
 * The moment one period later, in UTC. Months keep the day of the month, or take the month's last day where it is
 * shorter (31 January + `P1M` is 28 or 29 February), as both stores bill.
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
