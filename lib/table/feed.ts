import { GetCommand } from "@aws-sdk/lib-dynamodb";
import { dayOf } from "../telling/change.ts";
import type { FeedTable } from "../telling/feed.ts";
import { fromChangeItem, turnItem } from "./change-items.ts";
import { changePartition, changeSortKey, sequenceKey } from "./keys.ts";
import { queryPages } from "./query.ts";
import { parseItem, type Table } from "./table.ts";

export const createFeedTable = (table: Table): FeedTable => ({
  lastPlace: async (application) => {
    const { Item } = await table.client.send(
      new GetCommand({
        TableName: table.name,
        Key: { ...sequenceKey(application) },
        ConsistentRead: true,
      }),
    );
    const { sequence, toldAt } = Item === undefined ? {} : parseItem(turnItem, Item);
    return sequence === undefined || toldAt === undefined ? null : { day: dayOf(toldAt), sequence };
  },
  changesOf: async function* (application, day, after, perPage) {
    const query = {
      pk: changePartition(application, day),
      sortKeyAfter: changeSortKey(after),
      itemsPerPage: perPage,
    };
    for await (const page of queryPages(table, query)) yield page.map((item) => fromChangeItem(day, item));
  },
});
