import { HOUR, MINUTE, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";

/** Delays after a store's event at which the schedules run: when the service tries again. */
const AFTER_EVENT = [10 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR];

/** Moments after the stores' events at which the schedules are to run. */
export interface FollowUps {
  /** Adds an event's moments. Events come in order of time. */
  add(event: Instant): void;
  /** The first after the given moment; null: none. Forgets the earlier ones. */
  nextAfter(moment: Instant): Instant | null;
  clear(): void;
}

export const createFollowUps = (): FollowUps => {
  const queues = AFTER_EVENT.map((after) => ({ after, moments: [] as Instant[] }));
  return {
    add: (event) => {
      for (const { after, moments } of queues) moments.push(event + after);
    },
    nextAfter: (moment) => {
      const first = queues.flatMap(({ moments }) => {
        const passed = moments.findIndex((followUp) => followUp > moment);
        moments.splice(0, passed === -1 ? moments.length : passed);
        return moments.slice(0, 1);
      });
      return first.length > 0 ? Math.min(...first) : null;
    },
    clear: () => {
      for (const { moments } of queues) moments.length = 0;
    },
  };
};
