declare const encodedFrom: unique symbol;

/** A value as it is stored. */
export interface Encoded<Value> {
  readonly [encodedFrom]: Value;
}

/** Values stored by position have codecs instead of schemas: a replay of a thousand purchases reads forty thousand. */
export interface Codec<Value> {
  encode(this: void, value: Value): Encoded<Value>;
  /** @throws TypeError if what is stored is of another kind */
  decode(this: void, stored: unknown): Value;
}

const codec = <Value>(
  encode: (value: Value) => unknown,
  decode: (stored: unknown) => Value,
): Codec<Value> => ({ encode: (value) => encode(value) as Encoded<Value>, decode });

/** Stored as it is. */
const plain = <Value>(is: (stored: unknown) => stored is Value): Codec<Value> =>
  codec(
    (value) => value,
    (stored) => {
      if (is(stored)) return stored;
      throw new TypeError("A stored value is of another kind.");
    },
  );

export const branded = <Identifier extends string>(): Codec<Identifier> =>
  plain((stored): stored is Identifier => typeof stored === "string");

export const text = branded<string>();
export const integer = plain((stored): stored is number => Number.isSafeInteger(stored));
export const boolean = plain((stored) => typeof stored === "boolean");
const list = plain((stored): stored is readonly unknown[] => Array.isArray(stored));

export const nullable = <Value>({ encode, decode }: Codec<Value>): Codec<Value | null> =>
  codec(
    (value) => (value === null ? null : encode(value)),
    (stored) => (stored === null ? null : decode(stored)),
  );

/** Stored as the index of the value in the list, which may only grow at its end. */
export const oneOf = <Value>(values: readonly Value[]): Codec<Value> =>
  codec(
    (value) => values.indexOf(value),
    (stored) => {
      const value = values[integer.decode(stored)];
      if (value === undefined) throw new RangeError(`No value has the index ${String(stored)}.`);
      return value;
    },
  );

export const listOf = <Value>({ encode, decode }: Codec<Value>): Codec<readonly Value[]> =>
  codec(
    (values) => values.map(encode),
    (stored) => list.decode(stored).map(decode),
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
    ({ further = [], ...values }) => {
      const named: Readonly<Record<string, unknown>> = values;
      return [...known.map(([name, { encode }]) => encode(named[name])), ...further];
    },
    (stored) => {
      const values = list.decode(stored);
      const decoded: Record<string, unknown> = {};
      known.forEach(([name, { decode }], index) => {
        decoded[name] = decode(values[index]);
      });
      if (values.length > known.length) decoded["further"] = values.slice(known.length);
      return decoded as Named<Fields>;
    },
  );
};
