import type { Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * When the store refunds the purchase unless it is acknowledged: three days after it was made, three minutes for a
 * licence tester's.
 *
 * @see https://developer.android.com/google/play/billing/integrate#process
 */
export const acknowledgementDeadline = ({ environment, lines, verifiedAt }: Purchase): Instant => {
  const madeAt = Math.max(0, ...lines.map(({ startsAt }) => startsAt ?? 0)) || verifiedAt;
  return madeAt + (environment === "production" ? 3 * DAY : 3 * MINUTE);
};
