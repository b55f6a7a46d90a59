/** Durations in milliseconds, the unit of every instant. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Whole seconds since 1970, the unit of DynamoDB's time to live; rounded up, so that nothing goes early. */
export const epochSeconds = (instant: number): number => Math.ceil(instant / SECOND);
