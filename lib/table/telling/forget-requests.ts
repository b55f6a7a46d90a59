import * as z from "zod/mini";
import type { ForgetRequests } from "../../administration/acts/operations.ts";
import { once } from "../../once.ts";
import { createApplicationReader } from "../applications/application-reader.ts";
import { createBatchWriter } from "../dynamodb/batch-writer.ts";
import { requestDeliveryItem } from "./deliveries.ts";
import { keys, partitions, prefixes } from "../keys.ts";
import { queryPages } from "../dynamodb/query.ts";
import { knownItems, type Table } from "../dynamodb/table.ts";

/** The parts of a request that are read: its other attributes may be of another version. */
const waitingRequest = once(() => z.pick(requestDeliveryItem(), { request: true, data: true }));

const about = once(() =>
  z.object({
    customerIdentifier: z.nullish(z.string()),
    applicationAccountIdentifier: z.nullish(z.string()),
  }),
);

/** Implements {@link ForgetRequests}. Reads every request that waits for the application: there are few. */
export const createForgetRequests = (table: Table): ForgetRequests => {
  const writeAll = createBatchWriter(table);
  const { load } = createApplicationReader(table);
  return async (application, { customers, account }, begin) => {
    const erased = new Set<string>(customers);
    const isNamed = (data: unknown): boolean => {
      const named = about().safeParse(data);
      if (!named.success) return false;
      const { customerIdentifier, applicationAccountIdentifier } = named.data;
      const isOfCustomer = customerIdentifier != null && erased.has(customerIdentifier);
      return isOfCustomer || (account !== null && applicationAccountIdentifier === account);
    };
    const { destinations = [] } = (await load(application)) ?? {};
    let deleted = 0;
    for (const { name } of destinations) {
      const query = {
        pk: partitions.destination(application, name),
        sortKeyPrefix: prefixes.requestDelivery,
      };
      for await (const page of queryPages(table, query)) {
        const found = knownItems(waitingRequest, page).flatMap(({ request, data }) =>
          isNamed(data) ? [request] : [],
        );
        if (found.length === 0) continue;
        if (deleted === 0) await begin();
        await writeAll(
          found.map((request) => ({ delete: keys.requestDelivery(application, name, request) })),
        );
        deleted += found.length;
      }
    }
    return deleted;
  };
};
