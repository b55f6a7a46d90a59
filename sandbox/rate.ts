import { SECOND } from "../lib/duration.ts";
import type { Instant } from "../lib/entitlements/time.ts";

/** A limit of requests for each second of the clock. */
export const createRate = () => {
  let perSecond = Infinity;
  let second = 0;
  let count = 0;
  return {
    /** @param most null: no limit */
    limit: (most: number | null): void => {
      perSecond = most ?? Infinity;
      count = 0;
    },
    /** Counts a request. Returns when the next second begins if the current one is used up; null: it is not. */
    countedUntil: (at: Instant): Instant | null => {
      const current = Math.floor(at / SECOND);
      if (current !== second) count = 0;
      second = current;
      count += 1;
      return count <= perSecond ? null : (current + 1) * SECOND;
    },
  };
};
