import type { Instant } from "../lib/entitlements/time.ts";

interface DueEvent {
  readonly key: string;
  readonly at: Instant;
}

/** The next event of each of many keys. Finding the first takes a look at all of them, once after each event. */
export const createDue = () => {
  const events = new Map<string, Instant | null>();
  /** Undefined: to be found. */
  let known: DueEvent | null | undefined = null;

  const find = (): DueEvent | null => {
    let first: DueEvent | null = null;
    for (const [key, at] of events) if (at !== null && (first === null || at < first.at)) first = { key, at };
    return first;
  };

  return {
    /** @param at null: the key has no event */
    set: (key: string, at: Instant | null): void => {
      events.set(key, at);
      if (known?.key === key || (at !== null && at <= (known?.at ?? Infinity))) known = undefined;
    },
    delete: (key: string): void => {
      events.delete(key);
      if (known?.key === key) known = undefined;
    },
    /** The earliest event; of several, that of the key which was set first. */
    first: (): DueEvent | null => (known = known === undefined ? find() : known),
    clear: (): void => {
      events.clear();
      known = null;
    },
  };
};
