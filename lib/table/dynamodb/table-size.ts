import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import type { Table } from "./table.ts";

/** Item count of the table, which DynamoDB updates every six hours; null: unknown. */
export const tableSize = async ({ client, name: TableName }: Table): Promise<number | null> => {
  try {
    const { Table: described } = await client.send(new DescribeTableCommand({ TableName }));
    return described?.ItemCount ?? null;
  } catch {
    // It only serves to show progress, and needs a permission of its own.
    return null;
  }
};
