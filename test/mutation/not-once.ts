/**
 * In place of `lib/once.ts`: makes the value anew each time. Kept values would be made by whichever test comes first, and
 * Stryker would try the changes of their code with that test alone.
 */
export const once = <T>(make: () => T): (() => T) => make;

/** Loads anew each time, for the same reason. */
export const onceLoaded = <T>(load: () => Promise<T>): (() => Promise<T>) => load;
