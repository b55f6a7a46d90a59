import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Condition } from "./conditions.ts";
import type { Key } from "./key.ts";

export type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** A write or condition check of one item. The table's name is added where it is sent. */
export type Write = {
  readonly [Kind in keyof TransactItem]: Omit<NonNullable<TransactItem[Kind]>, "TableName">;
};

/** Replaces the whole item. */
export const put = (key: Key, attributes: object, condition?: Condition) => ({
  Put: { Item: { ...key, ...attributes }, ...condition },
});

/** Attributes that an update changes beside those that it sets. */
interface Further {
  /** Added to numeric attributes; a missing one counts as 0. */
  readonly add?: Readonly<Record<string, number>>;
  /** Set only where the item has none. */
  readonly initially?: Readonly<Record<string, unknown>>;
}

/**
 * Sets these attributes, removes undefined ones, and keeps all others: a later version may have written them.
 */
export const update = (
  key: Key,
  attributes: object,
  condition?: Condition,
  { add = {}, initially = {} }: Further = {},
) => {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const phrases = (of: object, phrase: (name: string, value: string) => string): readonly string[] =>
    Object.entries(of).map(([name, value]: [string, unknown]) => {
      const place = Object.keys(names).length;
      names[`#a${place}`] = name;
      if (value !== undefined) values[`:a${place}`] = value;
      return phrase(`#a${place}`, `:a${place}`);
    });
  const given = Map.groupBy(Object.entries(attributes), ([, value]) => value === undefined);
  const clauses = {
    SET: [
      ...phrases(Object.fromEntries(given.get(false) ?? []), (name, value) => `${name} = ${value}`),
      ...phrases(initially, (name, value) => `${name} = if_not_exists(${name}, ${value})`),
    ],
    REMOVE: phrases(Object.fromEntries(given.get(true) ?? []), (name) => name),
    ADD: phrases(add, (name, value) => `${name} ${value}`),
  };
  return {
    Update: {
      Key: { ...key },
      ...condition,
      UpdateExpression: Object.entries(clauses)
        .filter(([, changes]) => changes.length > 0)
        .map(([clause, changes]) => `${clause} ${changes.join(", ")}`)
        .join(" "),
      ExpressionAttributeNames: { ...names, ...condition?.ExpressionAttributeNames },
      ExpressionAttributeValues: { ...values, ...condition?.ExpressionAttributeValues },
    },
  };
};

export const deletion = (key: Key, condition?: Condition) => ({ Delete: { Key: { ...key }, ...condition } });

/** Writes nothing; the transaction fails unless the condition holds. */
export const check = (key: Key, condition: Condition) => ({
  ConditionCheck: { Key: { ...key }, ...condition },
});
