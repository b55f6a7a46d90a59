import { isInstant, type Instant } from "./time.ts";

/**
 * A moment, for rules that depend on time. They cannot see the moment itself, only ask which instants have come. So all
 * that an answer depends on is known: before the next instant asked about, each question has the same answer.
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
