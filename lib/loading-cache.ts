export interface LoadingCache<Name, Value> {
  /** Null: there is no such value. Rejects if its load does. */
  get(name: Name): Promise<Value | null>;
  /** Whether the cache holds a fresh value, or its load. */
  has(name: Name): boolean;
  /** Makes the next `get` load the value again; with a condition, only if the value meets it. */
  forget(name: Name, condition?: (value: Value) => boolean): void;
}

/**
 * Values are kept from the start of their load. Concurrent requests share one load; one that fails or finds nothing is
 * not kept. Beyond `maximumEntries` the oldest goes.
 */
export const createLoadingCache = <Name, Value>(options: {
  /** `before`: the expired value, if the cache still holds it. */
  readonly load: (name: Name, before: Promise<Value | null> | undefined) => Promise<Value | null>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly maximumAgeMilliseconds: number;
  readonly maximumEntries: number;
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
