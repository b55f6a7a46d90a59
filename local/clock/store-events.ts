import { setTimeout as sleep } from "node:timers/promises";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../../sandbox/clock.ts";

/** Events of all sandbox stores. A store that fails or hangs holds up no other; it is logged once. */
export interface StoreEvents {
  /** Moment of the first event after the given one; null: none is due. */
  nextAfter(moment: Instant): Instant | null;
  /** Runs every store. Resolves with whether an event happened. */
  runUntil(moment: Instant): Promise<boolean>;
}

const LONGEST_RUN_MILLISECONDS = 30_000;

const isDue = (event: Instant | null, moment: Instant): boolean => event !== null && event <= moment;

const superviseStore = (
  name: string,
  store: TimedStore,
  { log, longestRun }: { readonly log: (line: string) => void; readonly longestRun: number },
) => {
  let running = false;
  let told: string | null = null;

  const tell = (problem: string): void => {
    if (problem !== told) log(`${name}: ${problem}`);
    told = problem;
  };

  const nextEventAt = (): Instant | null => {
    try {
      return store.nextEventAt();
    } catch (error) {
      tell(String(error));
      return null;
    }
  };

  /** Whether the store ended its run in time. One that did not is left alone until it has. */
  const endsInTime = async (moment: Instant): Promise<boolean> => {
    running = true;
    const run = (async () => store.runUntil(moment))().finally(() => {
      running = false;
    });
    const over = new AbortController();
    try {
      return await Promise.race([run.then(() => true), sleep(longestRun, false, { signal: over.signal })]);
    } finally {
      over.abort();
      run.catch(() => undefined);
    }
  };

  const runUntil = async (moment: Instant): Promise<boolean> => {
    if (running) return false;
    const wasDue = isDue(nextEventAt(), moment);
    try {
      if (!(await endsInTime(moment))) {
        tell(`its events take longer than ${longestRun / 1000} s.`);
        return false;
      }
      const next = store.nextEventAt();
      if (isDue(next, moment)) {
        tell("an event that has happened is still due.");
        return false;
      }
      told = null;
      return wasDue;
    } catch (error) {
      tell(String(error));
      return false;
    }
  };

  return { nextEventAt, runUntil };
};

/** @param options.longestRun milliseconds of real time that a store may take for the events of one moment */
export const createStoreEvents = (
  stores: Readonly<Record<string, TimedStore>>,
  { log, longestRun = LONGEST_RUN_MILLISECONDS }: { log: (line: string) => void; longestRun?: number },
): StoreEvents => {
  const supervised = Object.entries(stores).map(([name, store]) =>
    superviseStore(name, store, { log, longestRun }),
  );
  return {
    nextAfter: (moment) => {
      const events = supervised.flatMap(({ nextEventAt }) => {
        const event = nextEventAt();
        return event !== null && event > moment ? [event] : [];
      });
      return events.length > 0 ? Math.min(...events) : null;
    },
    runUntil: async (moment) =>
      (await Promise.all(supervised.map(({ runUntil }) => runUntil(moment)))).includes(true),
  };
};
