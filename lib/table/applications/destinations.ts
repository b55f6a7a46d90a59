import * as z from "zod/mini";
import type { DestinationTable } from "../../administration/acts/destinations.ts";
import { once } from "../../once.ts";
import type { destinationItem } from "./application-items.ts";
import { auditWrite } from "./audit-write.ts";
import { createBatchWriter } from "../dynamodb/batch-writer.ts";
import { secretsUnchanged } from "../dynamodb/conditions.ts";
import { keys, partitions } from "../keys.ts";
import { isDelivery } from "../named-by-key.ts";
import { queryPages } from "../dynamodb/query.ts";
import * as shape from "../dynamodb/shapes.ts";
import { parseItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";
import { setAttributes } from "../dynamodb/writes.ts";

const keyItem = once(() => z.object({ pk: shape.text(), sk: shape.text() }));

const ITEMS_PER_PAGE = 500;

export const createDestinationTable = (table: Table): DestinationTable => {
  const { name: TableName } = table;
  const write = createBatchWriter(table);
  return {
    setSecretEpochs: async (application, before, secretEpochs, audit) => {
      const rotated = { secretEpochs } satisfies Partial<Attributes<typeof destinationItem>>;
      const key = keys.destination(application, before.name);
      const { outcome } = await transact(table, [
        setAttributes(TableName, key, rotated, secretsUnchanged(before)),
        ...(audit === undefined ? [] : [auditWrite(TableName, application, audit)]),
      ]);
      return outcome;
    },

    drop: async ({ application, destination }, progress) => {
      const query = { pk: partitions.destination(application, destination), itemsPerPage: ITEMS_PER_PAGE };
      let dropped = 0;
      for await (const page of queryPages(table, query)) {
        const found = parseItems(keyItem, page);
        await write(found.map((key) => ({ delete: key })));
        const deliveries = found.filter(isDelivery).length;
        dropped += deliveries;
        if (deliveries > 0) progress(dropped);
      }
      return dropped;
    },
  };
};
