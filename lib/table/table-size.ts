import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import type { Table } from "./table.ts";

/** Items of the table, as DynamoDB counted them in the last six hours; null: it does not say. */
export const tableSize = async ({ client, name: TableName }: Table): Promise<number | null> => {
  try {
    const { Table: described } = await client.send(new DescribeTableCommand({ TableName }));
    return described?.ItemCount ?? null;
  } catch {
    // It is for the progress alone, and needs a permission of its own.
    return null;
  }
};
