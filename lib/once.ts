/**
 * A value that is made when it is first asked for, and kept. For schemas: making one takes long beside using it, and a
 * function needs few of them.
 */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};
