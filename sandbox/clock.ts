import { Mutex } from "async-mutex";
import type { Instant } from "../lib/entitlements/time.ts";
import type { PushQueue } from "./pushes.ts";

/** A sandbox store, as the clock drives it. */
export interface TimedStore {
  /** Moment of its next event: a renewal, the end of a grace period, a push to be sent again; null: none is due. */
  nextEventAt(): Instant | null;
  /** Runs every event due by the moment, in order; resolves when its notifications were answered or have failed. */
  runUntil(moment: Instant): Promise<void>;
  /** Forgets everything it sold. */
  reset(): void;
  /** Everything it sold, as JSON text for the data folder. */
  save(): string;
}

export const earliest = (...moments: readonly (Instant | null)[]): Instant | null => {
  const first = Math.min(...moments.map((moment) => moment ?? Infinity));
  return first === Infinity ? null : first;
};

interface Shop {
  nextEventAt(): Instant | null;
  /** Runs the next event, at its moment, and publishes its notifications. */
  passNextEvent(): void;
}

export type Timeline = ReturnType<typeof createTimeline>;

/** A store's time: what falls due in its shop and its pushes happens in order, in one run after the other. */
export const createTimeline = (
  shop: Shop,
  pushes: Pick<PushQueue, "nextAt" | "sendDue" | "sent">,
  now: () => Instant,
) => {
  const turns = new Mutex();
  const nextEventAt = (): Instant | null => earliest(shop.nextEventAt(), pushes.nextAt());
  const pass = async (moment: Instant): Promise<void> => {
    await pushes.sent();
    for (let next = nextEventAt(); next !== null && next <= moment; next = nextEventAt()) {
      if (shop.nextEventAt() === next) shop.passNextEvent();
      else pushes.sendDue(next);
      await pushes.sent();
    }
  };
  return {
    nextEventAt,
    runUntil: async (moment: Instant): Promise<void> => turns.runExclusive(async () => pass(moment)),
    /** Acts once everything due has happened; answers once what the act makes due has happened and was pushed. */
    inTurn: async <Answer>(act: (at: Instant) => () => Answer): Promise<Answer> =>
      turns.runExclusive(async () => {
        await pass(now());
        const at = now();
        const answer = act(at);
        await pass(at);
        return answer();
      }),
  };
};
