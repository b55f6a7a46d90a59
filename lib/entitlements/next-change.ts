import { entitlementsAsOf } from "./entitlements.ts";
import type { Terms } from "./grants.ts";
import type { Holding } from "./holding.ts";
import { momentAt } from "./moment.ts";
import type { Instant } from "./time.ts";

/** Approximate number of lines read per call: bounds its time if hundreds of purchases change without being shown. */
const MOST_LINES_READ = 20_000;

/** Told state of an account at a moment, as text, and the next instant that it depends on. */
const lookAt = (
  now: Instant,
  holdings: readonly Holding[],
  terms: Terms,
): { readonly told: string; readonly next: Instant | null } => {
  const moment = momentAt(now);
  const entitlements = entitlementsAsOf(moment, holdings, terms);
  const told = JSON.stringify(entitlements.map((entitlement) => ({ ...entitlement, lastVerifiedAt: null })));
  return { told, next: moment.nextAsked() };
};

/**
 * Earliest instant after `moment` at which time alone changes the answer of {@link entitlementsAt}, `lastVerifiedAt`
 * aside; null: never. Until then, the answer of `moment` holds. If hundreds of purchases that are not shown begin or
 * end first, it may be too early, never too late: then nothing has changed at that instant, and a call from there
 * continues.
 */
export const nextChangeAt = (moment: Instant, holdings: readonly Holding[], terms: Terms): Instant | null => {
  const lines = holdings.reduce((sum, { purchase }) => sum + purchase.lines.length, 0);
  const { told, next: first } = lookAt(moment, holdings, terms);
  let next = first;
  // An instant that the rules ask about may change nothing, because another purchase wins before and after.
  for (let looks = MOST_LINES_READ / lines; looks > 0 && next !== null; looks -= 1) {
    const then = lookAt(next, holdings, terms);
    if (then.told !== told) break;
    next = then.next;
  }
  return next;
};
