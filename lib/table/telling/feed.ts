import { dayOf } from "../../telling/change.ts";
import type { FeedTable } from "../../telling/read-changes.ts";
import { queryItems, queryPages } from "../dynamodb/reads.ts";
import { parseItem, parseItems, type Table } from "../dynamodb/table.ts";
import { keys, partitions, sortKeys } from "../keys.ts";
import { changeItem, turnItem } from "./change-items.ts";

export const createFeedTable = (table: Table): FeedTable => ({
  lastPlace: async (application) => {
    const { pk, sk } = keys.sequence(application);
    // The function's role allows queries alone.
    const [item] = await queryItems(table, { pk, sortKeyPrefix: sk });
    const { sequence, toldAt } = item === undefined ? {} : parseItem(turnItem, item);
    return sequence === undefined || toldAt === undefined ? null : { day: dayOf(toldAt), sequence };
  },
  changesOf: async function* (application, day, after, perPage) {
    const range = { pk: partitions.change(application, day), sortKeyAfter: sortKeys.change(after) };
    for await (const page of queryPages(table, { ...range, itemsPerPage: perPage }))
      yield parseItems(changeItem, page);
  },
});
