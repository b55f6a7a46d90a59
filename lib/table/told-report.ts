import { GetCommand } from "@aws-sdk/lib-dynamodb";
import type { ToldTable } from "../administration/told-report.ts";
import { fromChangeItem, fromToldItem } from "./change-items.ts";
import { deliveryItem, fromDeliveryItem } from "./deliveries.ts";
import { afterLooksDueBy, changeKey, deliveryKey, lookPartition, toldKey, type Key } from "./keys.ts";
import { lookItem } from "./looks.ts";
import { queryPages } from "./query.ts";
import { knownItems, parseItem, type Item, type Table } from "./table.ts";

/** Number of due looks searched for an account. More are due only if telling is late. */
const LOOKS_SEARCHED = 300;

/** All reads are strongly consistent. */
export const createToldTable = (table: Table): ToldTable => {
  const get = async (key: Key): Promise<Item | undefined> => {
    const { Item: item } = await table.client.send(
      new GetCommand({ TableName: table.name, Key: { ...key }, ConsistentRead: true }),
    );
    return item;
  };
  return {
    toldOf: async (application, account) => {
      const item = await get(toldKey(application, account));
      return item === undefined ? null : fromToldItem(item);
    },
    changeAt: async (application, place) => {
      const item = await get(changeKey(application, place));
      return item === undefined ? null : fromChangeItem(place.day, item);
    },
    waitingOf: async ({ application, destination }, account) => {
      const item = await get(deliveryKey(application, destination, account));
      if (item === undefined) return null;
      const delivery = fromDeliveryItem(parseItem(deliveryItem, item));
      return delivery.kind === "account" ? delivery : null;
    },
    lookDueSince: async (application, account, moment) => {
      const query = {
        pk: lookPartition(application),
        sortKeyBefore: afterLooksDueBy(moment),
        itemsPerPage: LOOKS_SEARCHED,
      };
      for await (const page of queryPages(table, query))
        return knownItems(lookItem, page).find((look) => look.account === account)?.dueAt ?? null;
      return null;
    },
  };
};
