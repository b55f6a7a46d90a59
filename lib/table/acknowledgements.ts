import type * as z from "zod/mini";
import type { AcknowledgementQueue } from "../customers/acknowledgement-queue.ts";
import type { DueAcknowledgement } from "../customers/records.ts";
import { acknowledgementUnchanged } from "./conditions.ts";
import { acknowledgementItem } from "./items.ts";
import { ACKNOWLEDGEMENT_SHARDS, acknowledgementKey, acknowledgementPartition, keys } from "./keys.ts";
import { queryPages } from "./query.ts";
import { knownItems, type Table } from "./table.ts";
import { transact } from "./transactions.ts";
import { deletion, type TransactItem } from "./writes.ts";

const ITEMS_PER_PAGE = 50;

const toDue = ({
  store,
  environment,
  key,
  ...acknowledgement
}: z.output<ReturnType<typeof acknowledgementItem>>): DueAcknowledgement => ({
  ...acknowledgement,
  purchase: { store, environment, key },
});

export const createAcknowledgementQueue = (table: Table): AcknowledgementQueue => ({
  shards: ACKNOWLEDGEMENT_SHARDS,

  waiting: async function* (shard) {
    const query = { pk: acknowledgementPartition(shard), itemsPerPage: ITEMS_PER_PAGE };
    for await (const page of queryPages(table, query)) yield knownItems(acknowledgementItem, page).map(toDue);
  },

  remove: async ({ application, purchase, dueSince }) => {
    const taken = deletion(table.name, acknowledgementKey(application, purchase, dueSince));
    const noMoreDue: TransactItem = {
      Update: {
        TableName: table.name,
        Key: { ...keys.purchase(application, purchase) },
        UpdateExpression: "REMOVE acknowledgementDueSince ADD revision :one",
        ...acknowledgementUnchanged(dueSince, { ":one": 1 }),
      },
    };
    let removed = await transact(table, [noMoreDue, taken]);
    // The purchase is gone or no longer waits for this entry: delete the entry alone.
    if (removed.outcome === "conflict" && removed.failed.has(0)) removed = await transact(table, [taken]);
    if (removed.outcome === "conflict") throw removed.cause;
  },
});
