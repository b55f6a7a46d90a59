import { HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";

/** Delays after a store's event at which the schedules run: when the service tries again. */
const AFTER_EVENT = [10 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR];

/** Moments after the stores' events at which the schedules are to run. */
export const createFollowUps = () => {
  let moments: Instant[] = [];
  return {
    add: (event: Instant): void => {
      moments.push(...AFTER_EVENT.map((after) => event + after));
    },
    /** The first after the given moment; null: none. Forgets the earlier ones. */
    nextAfter: (moment: Instant): Instant | null => {
      moments = moments.filter((followUp) => followUp > moment);
      return moments.length > 0 ? moments.reduce((first, each) => Math.min(first, each)) : null;
    },
    clear: (): void => {
      moments = [];
    },
  };
};
