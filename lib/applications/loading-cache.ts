import type { Instant } from "../entitlements/time.ts";

/** Values that are loaded when asked for, and kept for a while. */
export interface LoadingCache<Name, Value> {
  /** The value, or null where there is none. Rejects as its load does. */
  get(name: Name): Promise<Value | null>;
  forget(name: Name): void;
}

/**
 * Keeps what was loaded until it is `maximumAgeMilliseconds` old, counted from the start of its load. Concurrent
 * requests share one load. A load that failed or found nothing is forgotten. Beyond `maximumEntries` the oldest goes.
 */
export const createLoadingCache = <Name, Value>(options: {
  readonly load: (name: Name) => Promise<Value | null>;
  readonly now: () => Instant;
  readonly maximumAgeMilliseconds: number;
  readonly maximumEntries: number;
}): LoadingCache<Name, Value> => {
  const entries = new Map<Name, { readonly since: Instant; readonly value: Promise<Value | null> }>();

  const start = (name: Name): Promise<Value | null> => {
    const entry = { since: options.now(), value: options.load(name) };
    const forgetThis = (): void => {
      if (entries.get(name) === entry) entries.delete(name);
    };
    entry.value.then((value) => value === null && forgetThis(), forgetThis);
    entries.delete(name);
    entries.set(name, entry);
    const [oldest] = entries.keys();
    if (entries.size > options.maximumEntries && oldest !== undefined) entries.delete(oldest);
    return entry.value;
  };

  return {
    get: async (name) => {
      const entry = entries.get(name);
      const fresh = entry !== undefined && options.now() - entry.since < options.maximumAgeMilliseconds;
      return fresh ? entry.value : start(name);
    },
    forget: (name) => void entries.delete(name),
  };
};
