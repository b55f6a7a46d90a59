/** Values that are loaded when asked for, and kept for a while. */
export interface LoadingCache<Name, Value> {
  /** The value, or null where there is none. Rejects as its load does. */
  get(name: Name): Promise<Value | null>;
  /** Whether `get` has the value, or its load, already. */
  has(name: Name): boolean;
  /** Loads the value anew when it is next asked for; where a condition is given, only if the value meets it. */
  forget(name: Name, condition?: (value: Value) => boolean): void;
}

/**
 * Keeps what was loaded until it is `maximumAgeMilliseconds` old, counted from the start of its load. Concurrent
 * requests share one load. A load that failed or found nothing is forgotten. Beyond `maximumEntries` the oldest goes.
 */
export const createLoadingCache = <Name, Value>(options: {
  /** `before` is the value that has grown too old, if it is still there. */
  readonly load: (name: Name, before: Promise<Value | null> | undefined) => Promise<Value | null>;
  /** Milliseconds of a clock that only rises. */
  readonly now: () => number;
  readonly maximumAgeMilliseconds: number;
  readonly maximumEntries: number;
  /** Names with the same text are one. */
  readonly textOf: (name: Name) => string;
}): LoadingCache<Name, Value> => {
  const entries = new Map<string, { readonly since: number; readonly value: Promise<Value | null> }>();

  const freshEntry = (text: string) => {
    const entry = entries.get(text);
    return entry !== undefined && options.now() - entry.since < options.maximumAgeMilliseconds
      ? entry
      : undefined;
  };

  const start = (name: Name, text: string): Promise<Value | null> => {
    const entry = { since: options.now(), value: options.load(name, entries.get(text)?.value) };
    const forgetThis = (): void => {
      if (entries.get(text) === entry) entries.delete(text);
    };
    entry.value.then((value) => value === null && forgetThis(), forgetThis);
    entries.delete(text);
    entries.set(text, entry);
    const [oldest] = entries.keys();
    if (entries.size > options.maximumEntries && oldest !== undefined) entries.delete(oldest);
    return entry.value;
  };

  return {
    get: async (name) => {
      const text = options.textOf(name);
      return freshEntry(text)?.value ?? start(name, text);
    },
    has: (name) => freshEntry(options.textOf(name)) !== undefined,
    forget: (name, condition) => {
      const text = options.textOf(name);
      const entry = entries.get(text);
      if (condition === undefined) entries.delete(text);
      else
        entry?.value.then(
          (value) =>
            value !== null && condition(value) && entries.get(text) === entry && entries.delete(text),
          () => undefined,
        );
    },
  };
};
