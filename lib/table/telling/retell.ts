import * as z from "zod/mini";
import type { AccountPosition, RetellTable } from "../../administration/acts/scans.ts";
import { accountId, customerId, type CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { createBatchWriter } from "../dynamodb/batch-writer.ts";
import { keys, partitions, prefixes } from "../keys.ts";
import { accountOfKey } from "../named-by-key.ts";
import { lookAttributes } from "./looks.ts";
import { scanPages } from "../dynamodb/scan.ts";
import * as shape from "../dynamodb/shapes.ts";
import { tableSize } from "../dynamodb/table-size.ts";
import { parseItems, type Table } from "../dynamodb/table.ts";

const accountCustomerKey = once(() =>
  z.object({ pk: shape.text(), sk: shape.text(), customer: shape.branded<CustomerId>(shape.uuid()) }),
);

export const createRetellTable = (table: Table): RetellTable => {
  const write = createBatchWriter(table);
  return {
    accountPages: async function* (application, after) {
      const pages = scanPages(table, {
        FilterExpression: "begins_with(pk, :accounts) AND begins_with(sk, :customers)",
        ProjectionExpression: "pk, sk, customer",
        ExpressionAttributeValues: {
          ":accounts": partitions.account(application, accountId("")),
          ":customers": prefixes.customer,
        },
        after: after === null ? null : keys.accountCustomer(application, after.account, after.customer),
        scannedBefore: after?.scanned ?? 0,
      });
      let last = after?.account ?? null;
      for await (const { items, scanned } of pages) {
        const found = parseItems(accountCustomerKey, items).flatMap(({ customer, ...key }) => {
          const account = accountOfKey(key);
          return account === null ? [] : [{ account, customer: customerId(customer) }];
        });
        const end = found.at(-1);
        const position: AccountPosition | null = end === undefined ? null : { ...end, scanned };
        // A partition's items follow each other, and a page may end between them.
        const accounts = new Set(found.map(({ account }) => account));
        if (last !== null) accounts.delete(last);
        last = end?.account ?? last;
        yield { accounts: [...accounts], position, scanned };
      }
    },

    makeDue: (application, looks) =>
      write(looks.map((look) => ({ put: { ...keys.look(application, look), ...lookAttributes(look) } }))),

    size: () => tableSize(table),
  };
};
