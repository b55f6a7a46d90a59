import * as z from "zod/mini";
import type { ForgetRequests } from "../administration/operations.ts";
import { customerId } from "../identifiers.ts";
import { once } from "../once.ts";
import { createApplicationReader } from "./application-reader.ts";
import { createBatchWriter } from "./batch-writer.ts";
import { requestDeliveryItem } from "./deliveries.ts";
import { destinationPartition, requestDeliveryKey, REQUESTS } from "./keys.ts";
import { queryPages } from "./query.ts";
import { knownItems, type Table } from "./table.ts";

const aboutCustomer = once(() => z.object({ customerIdentifier: z.string() }));

/** Implements {@link ForgetRequests}. Reads every request that waits for the application: there are few. */
export const createForgetRequests = (
  table: Table,
  pause: (attempt: number) => Promise<void>,
): ForgetRequests => {
  const writeAll = createBatchWriter(table, pause);
  const { load } = createApplicationReader(table);
  return async (application, customers, begin) => {
    const erased = new Set(customers);
    const { destinations = [] } = (await load(application)) ?? {};
    let deleted = 0;
    for (const { name } of destinations) {
      const query = { pk: destinationPartition(application, name), sortKeyPrefix: REQUESTS };
      for await (const page of queryPages(table, query)) {
        const found = knownItems(requestDeliveryItem, page).flatMap(({ request, data }) => {
          const about = aboutCustomer().safeParse(data);
          return about.success && erased.has(customerId(about.data.customerIdentifier)) ? [request] : [];
        });
        if (found.length === 0) continue;
        if (deleted === 0) await begin();
        await writeAll(found.map((request) => ({ delete: requestDeliveryKey(application, name, request) })));
        deleted += found.length;
      }
    }
    return deleted;
  };
};
