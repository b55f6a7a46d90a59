/**
 * Creates a value on first use and keeps it. For schemas: creating one is slow compared to using it, and a function
 * needs few. As constants they cost the reader's first answer 7 % more CPU time.
 */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};
