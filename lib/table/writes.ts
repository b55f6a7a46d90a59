import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Key } from "./keys.ts";

export type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** A condition with a name, and the values it compares with. */
export interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeValues?: Record<string, unknown>;
}

/** The version that was read is the version that is replaced. */
export const versionUnchanged = (version: number): Condition => ({
  ConditionExpression: "version = :version",
  ExpressionAttributeValues: { ":version": version },
});

/**
 * Sets attributes of an item, and leaves those that it does not know: a later version may have written them. Attributes
 * that are undefined are removed.
 */
export const setAttributes = (
  TableName: string,
  key: Key,
  attributes: Readonly<Record<string, unknown>>,
  { ConditionExpression, ExpressionAttributeValues }: Partial<Condition> = {},
): TransactItem => {
  const entries = Object.entries(attributes).map(([name, value], index) => ({ name, value, index }));
  const set = entries.filter(({ value }) => value !== undefined);
  const removed = entries.filter(({ value }) => value === undefined);
  const expressions = [
    set.length === 0 ? "" : `SET ${set.map(({ index }) => `#a${index} = :a${index}`).join(", ")}`,
    removed.length === 0 ? "" : `REMOVE ${removed.map(({ index }) => `#a${index}`).join(", ")}`,
  ];
  return {
    Update: {
      TableName,
      Key: { ...key },
      UpdateExpression: expressions.filter((expression) => expression !== "").join(" "),
      ExpressionAttributeNames: Object.fromEntries(entries.map(({ name, index }) => [`#a${index}`, name])),
      ExpressionAttributeValues: {
        ...Object.fromEntries(set.map(({ value, index }) => [`:a${index}`, value])),
        ...ExpressionAttributeValues,
      },
      ...(ConditionExpression !== undefined && { ConditionExpression }),
    },
  };
};

export const deletion = (TableName: string, key: Key): TransactItem => ({
  Delete: { TableName, Key: { ...key } },
});
