/**
 * Creates a value on first use and keeps it. For schemas: creating one is slow compared to using it, and a function
 * needs few.
 */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};
