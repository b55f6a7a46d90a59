import { ScanCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../../once.ts";
import { keys } from "../keys.ts";
import { readItem } from "./reads.ts";
import { parseItem, type Item, type Table } from "./table.ts";

/**
 * Format of all items. A version reads what the next one writes: unknown items of a partition are ignored, unknown
 * attributes survive a rewrite, and lists of positions grow only at their end. Only a change that breaks this gets a
 * new number.
 */
export const TABLE_FORMAT = 2;

/** The table has a format that this version cannot read. */
export class TableFormatError extends Error {
  constructor(table: string, format: unknown) {
    super(
      format === undefined
        ? `The table ${table} has an older format that cannot be migrated: start with a new table (locally: another --data folder).`
        : `The table ${table} is of format ${JSON.stringify(format)}; this version reads only format ${TABLE_FORMAT}.`,
    );
    this.name = "TableFormatError";
  }
}

/** An item that names the format of the items beside it. */
export const markedItem = once(() => z.object({ tableFormat: z.optional(z.unknown()) }));

const requireFormat = (table: string, { tableFormat }: { readonly tableFormat?: unknown }): void => {
  if (tableFormat !== TABLE_FORMAT) throw new TableFormatError(table, tableFormat);
};

/** @throws TableFormatError if an item names another format, or none */
export const requireFormatOf = ({ name }: Pick<Table, "name">, item: Item): void =>
  requireFormat(name, parseItem(markedItem, item));

/** @throws TableFormatError if the table has another format, or items and no format */
export const requireTableFormat = async (table: Table): Promise<void> => {
  const { client, name: TableName } = table;
  const marked = await readItem(table, keys.format(), markedItem);
  if (marked !== null) return requireFormat(TableName, marked);
  const { Items = [] } = await client.send(new ScanCommand({ TableName, Limit: 1, ConsistentRead: true }));
  if (Items.length > 0) throw new TableFormatError(TableName, undefined);
};
