/**
 * Creates a value on first use and keeps it. For schemas: creating one is slow compared to using it, and a function
 * needs few. As constants they cost the reader's first answer 7 % more CPU time.
 */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** Loads a value at the first call and keeps it. A load that fails is repeated at the next call. */
export const onceLoaded = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
};
