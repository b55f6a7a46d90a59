import { MINUTE } from "../duration.ts";
import { isInstant, type Instant } from "./time.ts";

/** Tolerance between the stores' clocks and ours: a purchase that begins within it has begun. */
export const CLOCK_TOLERANCE_MILLISECONDS = MINUTE;

/**
 * A moment, for rules that depend on time. Rules cannot see the moment, only ask which instants have come. So
 * everything that an answer depends on is known: until the next instant asked about, the answer stays the same.
 */
export interface Moment {
  readonly hasCome: (instant: Instant) => boolean;
  /** Earliest instant asked about so far that has not come; null: none. */
  readonly nextAsked: () => Instant | null;
}

export const momentAt = (now: Instant): Moment => {
  let next = Infinity;
  return {
    hasCome: (instant) => {
      if (instant <= now) return true;
      next = Math.min(next, instant);
      return false;
    },
    nextAsked: () => (isInstant(next) ? next : null),
  };
};
