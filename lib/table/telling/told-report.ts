import type { ToldTable } from "../../administration/reports/told-report.ts";
import { fromChangeItem, fromToldItem } from "./change-items.ts";
import { deliveryItem, fromDeliveryItem } from "./deliveries.ts";
import { keys, partitions, sortKeys } from "../keys.ts";
import { lookItem } from "./looks.ts";
import { queryPages } from "../dynamodb/query.ts";
import { knownItems, parseItem, readItem, type Table } from "../dynamodb/table.ts";

/** Number of due looks searched for an account. More are due only if telling is late. */
const LOOKS_SEARCHED = 300;

/** All reads are strongly consistent. */
export const createToldTable = (table: Table): ToldTable => ({
  toldOf: async (application, account) => {
    const item = await readItem(table, keys.told(application, account));
    return item === undefined ? null : fromToldItem(item);
  },
  changeAt: async (application, place) => {
    const item = await readItem(table, keys.change(application, place));
    return item === undefined ? null : fromChangeItem(place.day, item);
  },
  waitingOf: async ({ application, destination }, account) => {
    const item = await readItem(table, keys.delivery(application, destination, account));
    if (item === undefined) return null;
    const delivery = fromDeliveryItem(parseItem(deliveryItem, item));
    return delivery.kind === "account" ? delivery : null;
  },
  lookDueSince: async (application, account, moment) => {
    const query = {
      pk: partitions.look(application),
      sortKeyBefore: sortKeys.afterDueBy(moment),
      itemsPerPage: LOOKS_SEARCHED,
    };
    for await (const page of queryPages(table, query))
      return knownItems(lookItem, page).find((look) => look.account === account)?.dueAt ?? null;
    return null;
  },
});
