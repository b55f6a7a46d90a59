import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../../sandbox/clock.ts";

export type StoreEvents = ReturnType<typeof createStoreEvents>;

/** Events of all sandbox stores. A store that fails holds up no other. */
export const createStoreEvents = (
  stores: Readonly<Record<string, TimedStore>>,
  log: (line: string) => void,
) => {
  const events = (): Instant[] =>
    Object.values(stores)
      .map((store) => store.nextEventAt())
      .filter((event) => event !== null);

  return {
    /** Moment of the first event after the given one; null: none is due. */
    nextAfter: (moment: Instant): Instant | null => {
      const following = events().filter((event) => event > moment);
      return following.length > 0 ? Math.min(...following) : null;
    },
    /** Runs every store. Resolves with whether an event was due. */
    runUntil: async (moment: Instant): Promise<boolean> => {
      const isDue = events().some((event) => event <= moment);
      await Promise.all(
        Object.entries(stores).map(async ([name, store]) =>
          store.runUntil(moment).catch((error: unknown) => log(`${name}: ${String(error)}`)),
        ),
      );
      return isDue;
    },
  };
};
