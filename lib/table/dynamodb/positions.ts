/** Values stored by position have codecs instead of schemas: a replay of a thousand purchases reads forty thousand. */
export type Guard<T> = (value: unknown) => value is T;

export const isText: Guard<string> = (value) => typeof value === "string";
export const isInteger: Guard<number> = (value): value is number => Number.isSafeInteger(value);
const isBoolean: Guard<boolean> = (value) => typeof value === "boolean";

export const isListOf =
  <T>(is: (value: unknown) => value is T): Guard<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.every(is);

declare const encodedFrom: unique symbol;

/** A value as it is stored. */
export interface Encoded<Value> {
  readonly [encodedFrom]: Value;
}

export interface Codec<Value> {
  is(this: void, stored: unknown): stored is Encoded<Value>;
  encode(this: void, value: Value): Encoded<Value>;
  decode(this: void, stored: Encoded<Value>): Value;
}

/** A codec from functions of untyped stored values; `decode` gets only values that `is` accepts. */
const codec = <Value>(
  is: (stored: unknown) => boolean,
  encode: (value: Value) => unknown,
  decode: (stored: unknown) => Value,
): Codec<Value> => ({
  is: (stored): stored is Encoded<Value> => is(stored),
  encode: (value) => encode(value) as Encoded<Value>,
  decode,
});

/** Stored as it is. */
const plain = <Value>(is: Guard<Value>): Codec<Value> =>
  codec(
    is,
    (value) => value,
    (stored) => stored as Value,
  );

export const text = plain(isText);
export const integer = plain(isInteger);
export const boolean = plain(isBoolean);

export const branded = <Identifier extends string>(): Codec<Identifier> =>
  plain((value): value is Identifier => isText(value));

export const nullable = <Value>({ is, encode, decode }: Codec<Value>): Codec<Value | null> =>
  codec(
    (stored) => stored === null || is(stored),
    (value) => (value === null ? null : encode(value)),
    (stored) => (stored === null ? null : decode(stored as Encoded<Value>)),
  );

/** Stored as the index of the value in the list, which may only grow at its end. */
export const oneOf = <Value>(values: readonly Value[]): Codec<Value> =>
  codec(
    (stored) => isInteger(stored) && stored >= 0 && stored < values.length,
    (value) => values.indexOf(value),
    (stored) => {
      const value = values[stored as number];
      if (value === undefined) throw new RangeError(`No value has the index ${String(stored)}.`);
      return value;
    },
  );

export const listOf = <Value>({ is, encode, decode }: Codec<Value>): Codec<readonly Value[]> =>
  codec(
    (stored) => Array.isArray(stored) && stored.every(is),
    (values) => values.map(encode),
    (stored) => (stored as readonly Encoded<Value>[]).map(decode),
  );

type Named<Fields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Codec<infer Value> ? Value : never;
} & {
  /** Values that a newer version appended; kept as they are. */
  readonly further?: readonly unknown[];
};

/**
 * Codec of an object as the list of its fields' values. Each field is named once, in the order in which they are
 * stored. That order may only grow at its end, with codecs that accept undefined: older items lack the value.
 */
export const positional = <Fields extends Readonly<Record<string, Codec<unknown>>>>(
  fields: Fields,
): Codec<Named<Fields>> => {
  const known = Object.entries(fields);
  return codec(
    (stored) => Array.isArray(stored) && known.every(([, { is }], index) => is(stored[index])),
    ({ further = [], ...values }) => {
      const named: Readonly<Record<string, unknown>> = values;
      return [...known.map(([name, { encode }]) => encode(named[name])), ...further];
    },
    (stored) => {
      const values = stored as readonly Encoded<unknown>[];
      const decoded: Record<string, unknown> = {};
      known.forEach(([name, { decode }], index) => {
        decoded[name] = decode(values[index] as Encoded<unknown>);
      });
      if (values.length > known.length) decoded["further"] = values.slice(known.length);
      return decoded as Named<Fields>;
    },
  );
};
