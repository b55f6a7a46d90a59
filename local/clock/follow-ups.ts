import type { Instant } from "../../lib/entitlements/time.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Times after a store's event at which the schedules run: those at which the service tries again. */
const AFTER_EVENT = [SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR];

/** Moments after the stores' events at which the schedules are to run. */
export interface FollowUps {
  /** Remembers those of an event. */
  add(event: Instant): void;
  /** The first after the given moment; null: none. Forgets the earlier ones. */
  nextAfter(moment: Instant): Instant | null;
  clear(): void;
}

export const createFollowUps = (): FollowUps => {
  const moments = new Set<Instant>();
  return {
    add: (event) => {
      for (const after of AFTER_EVENT) moments.add(event + after);
    },
    nextAfter: (moment) => {
      let first: Instant | null = null;
      for (const followUp of moments)
        if (followUp <= moment) moments.delete(followUp);
        else if (first === null || followUp < first) first = followUp;
      return first;
    },
    clear: () => moments.clear(),
  };
};
