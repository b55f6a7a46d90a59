/**
 * Guards for values stored by position, instead of a schema per position: a replay of a thousand purchases reads forty
 * thousand of them.
 */
export type Guard<T> = (value: unknown) => value is T;

export const isText = (value: unknown): value is string => typeof value === "string";
export const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
export const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
export const nullable =
  <T>(is: Guard<T>): Guard<T | null> =>
  (value): value is T | null =>
    value === null || is(value);
/** A position that older items do not have. */
export const optional =
  <T>(is: Guard<T>): Guard<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || is(value);
export const isPositionIn =
  (values: readonly unknown[]): Guard<number> =>
  (value): value is number =>
    isInteger(value) && value >= 0 && value < values.length;

export const isListOf =
  <T>(is: Guard<T>): Guard<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.every(is);

export type Guarded<Guards extends readonly unknown[]> = {
  -readonly [Index in keyof Guards]: Guards[Index] extends Guard<infer T> ? T : never;
};

/** Whether a value has these values at its first positions. Values that a later version appends are kept. */
export const arePositions =
  <Guards extends readonly Guard<unknown>[]>(
    guards: Guards,
  ): Guard<[...known: Guarded<Guards>, ...further: unknown[]]> =>
  (value): value is [...known: Guarded<Guards>, ...further: unknown[]] =>
    Array.isArray(value) && guards.every((is, index) => is(value[index]));

/**
 * Codec of an object as a list of its fields' values. Each field is named once, with its guard, in the order in which
 * they are stored: that order may only grow at its end, with {@link optional} fields.
 */
export const positional = <Fields extends Readonly<Record<string, Guard<unknown>>>>(fields: Fields) => {
  type Stored = { -readonly [Name in keyof Fields]: Fields[Name] extends Guard<infer T> ? T : never };
  const names: readonly (keyof Fields)[] = Object.keys(fields);
  return {
    is: arePositions(Object.values(fields)),
    encode: (stored: Readonly<Stored>, further: readonly unknown[] = []): unknown[] => [
      ...names.map((name) => stored[name]),
      ...further,
    ],
    decode: (values: readonly unknown[]) => ({
      stored: Object.fromEntries(names.map((name, index) => [name, values[index]])) as Stored,
      /** Values that a newer version appended. */
      further: values.slice(names.length),
    }),
  };
};
