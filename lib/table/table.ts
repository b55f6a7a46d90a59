import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type * as z from "zod/mini";

/** The one table, and the client that reaches it. */
export interface Table {
  readonly client: DynamoDBDocumentClient;
  readonly name: string;
}

export const absent = "attribute_not_exists(pk)";

/** An item that is not of its documented shape: the key is named, its content is not. */
export class MalformedItemError extends Error {
  constructor(item: Record<string, unknown>, cause: unknown) {
    super(`The item ${JSON.stringify([item["pk"], item["sk"]])} is not of its shape.`, { cause });
    this.name = "MalformedItemError";
  }
}

/** Items are parsed, never cast. */
export const parseItem = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  item: Record<string, unknown>,
): z.output<Schema> => {
  const parsed = schema().safeParse(item);
  if (!parsed.success) {
    const paths = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new MalformedItemError(item, new Error(`at ${paths}`));
  }
  return parsed.data;
};
