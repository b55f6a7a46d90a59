import type { Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * When the store refunds the purchase unless it is acknowledged: three days after it was made, three minutes for a
 * licence tester's. A purchase that the store still waits for has not come so far, whenever it says that it began: a
 * third of that time is left at least.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 */
export const acknowledgementDeadline = ({ environment, lines, verifiedAt }: Purchase): Instant => {
  const madeAt = Math.max(0, ...lines.map(({ startsAt }) => startsAt ?? 0)) || verifiedAt;
  const third = environment === "production" ? DAY : MINUTE;
  return Math.max(madeAt + 3 * third, verifiedAt + third);
};
