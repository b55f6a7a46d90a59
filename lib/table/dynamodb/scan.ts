import { paginateScan } from "@aws-sdk/lib-dynamodb";
import type { Key } from "./key.ts";
import type { Item, Table } from "./table.ts";

/** Items of the whole table that match a filter. */
export interface TableScan {
  readonly FilterExpression: string;
  readonly ProjectionExpression: string;
  readonly ExpressionAttributeValues: Record<string, unknown>;
  /** The scan goes on after this key; null: it starts at the table's beginning. */
  readonly after: Key | null;
  /** Items that were scanned up to `after`. */
  readonly scannedBefore: number;
}

export interface ScannedPage {
  readonly items: readonly Item[];
  /** Items that were scanned so far, whether or not they match. */
  readonly scanned: number;
}

/** Pages of the items, strongly consistent; one request per page. Items of a partition follow each other. */
export const scanPages = async function* (
  { client, name }: Table,
  { after, scannedBefore, ...filter }: TableScan,
): AsyncGenerator<ScannedPage> {
  const pages = paginateScan(
    { client, ...(after !== null && { startingToken: after }) },
    { TableName: name, ConsistentRead: true, ...filter },
  );
  let scanned = scannedBefore;
  for await (const { Items = [], ScannedCount = 0 } of pages) {
    scanned += ScannedCount;
    yield { items: Items, scanned };
  }
};
