import { isRevoked, type Line } from "./purchase.ts";
import { plusPeriod, times, type Instant, type Period } from "./time.ts";

/** End of the given units of a pass. */
export const endOfUnits = (units: number, duration: Period, begins: Instant): Instant =>
  plusPeriod(begins, times(units, duration));

/**
 * Time up to which a pass takes up time, so that the next one of its product starts there: the end of its units that
 * are not refunded. Refunded units count up to their refund: that time was used, and later passes must not move. Units
 * that were refunded in every answer were never used, so they take up no time.
 */
export const takenUntil = (line: Line, duration: Period, begins: Instant): Instant => {
  const lasts = isRevoked(line)
    ? begins
    : endOfUnits(line.quantity - line.refundedQuantity, duration, begins);
  const shown = endOfUnits(line.quantity - line.leastRefunded, duration, begins);
  return Math.max(lasts, Math.min(shown, line.refundedBy ?? begins));
};
