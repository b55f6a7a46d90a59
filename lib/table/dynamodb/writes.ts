import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Condition } from "./conditions.ts";
import type { Key } from "./key.ts";

/** A write or condition check of one item in a transaction. */
export type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** Replaces the whole item. */
export const put = (
  TableName: string,
  key: Key,
  attributes: object,
  condition?: Condition,
): TransactItem => ({
  Put: { TableName, Item: { ...key, ...attributes }, ...condition },
});

/**
 * An update that sets these attributes, removes undefined ones, and keeps all others: a later version may have written
 * them.
 */
export const updateOf = (
  TableName: string,
  key: Key,
  attributes: object,
  condition?: Condition,
): NonNullable<TransactItem["Update"]> => {
  const entries = Object.entries(attributes).map(([name, value]: [string, unknown], index) => ({
    name,
    value,
    index,
  }));
  const set = entries.filter(({ value }) => value !== undefined);
  const removed = entries.filter(({ value }) => value === undefined);
  const expressions = [
    set.length === 0 ? "" : `SET ${set.map(({ index }) => `#a${index} = :a${index}`).join(", ")}`,
    removed.length === 0 ? "" : `REMOVE ${removed.map(({ index }) => `#a${index}`).join(", ")}`,
  ];
  return {
    TableName,
    Key: { ...key },
    ...condition,
    UpdateExpression: expressions.filter((expression) => expression !== "").join(" "),
    ExpressionAttributeNames: {
      ...Object.fromEntries(entries.map(({ name, index }) => [`#a${index}`, name])),
      ...condition?.ExpressionAttributeNames,
    },
    ExpressionAttributeValues: {
      ...Object.fromEntries(set.map(({ value, index }) => [`:a${index}`, value])),
      ...condition?.ExpressionAttributeValues,
    },
  };
};

/** {@link updateOf} in a transaction. */
export const setAttributes = (...given: Parameters<typeof updateOf>): TransactItem => ({
  Update: updateOf(...given),
});

/** Adds to numeric attributes; a missing one counts as 0. */
export const add = (
  TableName: string,
  key: Key,
  differences: Readonly<Record<string, number>>,
  condition: Condition,
): TransactItem => {
  const entries = Object.entries(differences).map(([name, difference], index) => ({
    name,
    difference,
    index,
  }));
  return {
    Update: {
      TableName,
      Key: { ...key },
      ...condition,
      UpdateExpression: `ADD ${entries.map(({ index }) => `#d${index} :d${index}`).join(", ")}`,
      ExpressionAttributeNames: {
        ...Object.fromEntries(entries.map(({ name, index }) => [`#d${index}`, name])),
        ...condition.ExpressionAttributeNames,
      },
      ExpressionAttributeValues: {
        ...Object.fromEntries(entries.map(({ difference, index }) => [`:d${index}`, difference])),
        ...condition.ExpressionAttributeValues,
      },
    },
  };
};

export const deletion = (TableName: string, key: Key, condition?: Condition): TransactItem => ({
  Delete: { TableName, Key: { ...key }, ...condition },
});

/** Writes nothing; the transaction fails unless the condition holds. */
export const check = (TableName: string, key: Key, condition: Condition): TransactItem => ({
  ConditionCheck: { TableName, Key: { ...key }, ...condition },
});
