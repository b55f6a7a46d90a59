import { GetCommand, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { keys } from "./keys.ts";
import { type Table } from "./table.ts";

/**
 * The format of all items of the table. From here on a version reads what the next one writes: unknown items of a
 * partition are left aside, unknown attributes survive a rewrite, and lists of positions grow at their end. Only what
 * breaks that takes another number.
 */
export const TABLE_FORMAT = 1;

/** A table that another version wrote, which this one cannot read. */
export class TableFormatError extends Error {
  constructor(table: string, format: unknown) {
    super(
      format === undefined
        ? `The table ${table} was written before its format was settled, and there is no way to bring it along: begin with a new table (locally: another --data folder).`
        : `The table ${table} is of format ${JSON.stringify(format)}, and this version reads format ${TABLE_FORMAT} only.`,
    );
    this.name = "TableFormatError";
  }
}

/** @throws TableFormatError where the table holds anything of another format */
export const requireTableFormat = async ({ client, name: TableName }: Table): Promise<void> => {
  const { Item } = await client.send(
    new GetCommand({ TableName, Key: { ...keys.format() }, ConsistentRead: true }),
  );
  if (Item?.["tableFormat"] === TABLE_FORMAT) return;
  if (Item !== undefined) throw new TableFormatError(TableName, Item["tableFormat"]);
  const { Items = [] } = await client.send(new ScanCommand({ TableName, Limit: 1, ConsistentRead: true }));
  if (Items.length > 0) throw new TableFormatError(TableName, undefined);
};
