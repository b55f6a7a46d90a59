import type { Instant } from "../lib/entitlements/time.ts";

/** A sandbox store, as the clock drives it. */
export interface TimedStore {
  /** Moment of its next event: a renewal, the end of a grace period, a push to be sent again; null: none is due. */
  nextEventAt(): Instant | null;
  /**
   * Runs every event due by the moment, in order, and pushes its notifications; resolves when the pushes were answered
   * or have failed.
   */
  runUntil(moment: Instant): Promise<void>;
  /** Forgets everything it sold. */
  reset(): void;
  /** Everything it sold, as JSON text for the data folder. */
  save(): string;
}
