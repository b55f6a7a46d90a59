import { ScanCommand } from "@aws-sdk/lib-dynamodb";
import { keys } from "./keys.ts";
import { readItem, type Table } from "./table.ts";

/**
 * Format of all items. A version reads what the next one writes: unknown items of a partition are ignored, unknown
 * attributes survive a rewrite, and lists of positions grow only at their end. Only a change that breaks this gets a
 * new number.
 */
export const TABLE_FORMAT = 1;

/** The table has a format that this version cannot read. */
export class TableFormatError extends Error {
  constructor(table: string, format: unknown) {
    super(
      format === undefined
        ? `The table ${table} was written before its format was settled, and it cannot be migrated: start with a new table (locally: another --data folder).`
        : `The table ${table} is of format ${JSON.stringify(format)}; this version reads only format ${TABLE_FORMAT}.`,
    );
    this.name = "TableFormatError";
  }
}

/** @throws TableFormatError if the table has another format, or items and no format */
export const requireTableFormat = async (table: Table): Promise<void> => {
  const { client, name: TableName } = table;
  const item = await readItem(table, keys.format());
  if (item?.["tableFormat"] === TABLE_FORMAT) return;
  if (item !== undefined) throw new TableFormatError(TableName, item["tableFormat"]);
  const { Items = [] } = await client.send(new ScanCommand({ TableName, Limit: 1, ConsistentRead: true }));
  if (Items.length > 0) throw new TableFormatError(TableName, undefined);
};
