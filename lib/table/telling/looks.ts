import * as z from "zod/mini";
import type { AccountPosition, RetellTable } from "../../administration/acts/scans.ts";
import type { Instant } from "../../entitlements/time.ts";
import { accountId, type ApplicationId, type CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { CHANGES_KEPT_MILLISECONDS } from "../../telling/change.ts";
import type { Look } from "../../telling/look.ts";
import { firstKnownItems, scanPages, tableSize } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, parseItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { writeAll } from "../dynamodb/transactions.ts";
import { put } from "../dynamodb/writes.ts";
import { keys, partitions, prefixes, sortKeys } from "../keys.ts";
import { accountOfKey } from "../named-by-key.ts";

const customer = () => shape.branded<CustomerId>(shape.text());

/** A due look at an account. */
export const lookItem = once(() =>
  z.object({
    account: shape.account(),
    dueAt: shape.integer(),
    cause: z.nullable(
      z.object({
        customer: customer(),
        version: shape.integer(),
        customers: z.array(customer()),
        erased: z.boolean(),
      }),
    ),
  }),
);

/** Makes a look due, in the transaction of the change that it must see. */
export const lookWrite = (application: ApplicationId, look: Look) => {
  const { account, dueAt, cause } = look;
  return put(keys.look(application, look), {
    account,
    dueAt,
    cause: cause === null ? null : { ...cause, customers: [...cause.customers] },
    // Expires if the application has stopped telling.
    ...expiry(dueAt + CHANGES_KEPT_MILLISECONDS),
  } satisfies Attributes<typeof lookItem>);
};

/** Looks due by the moment, oldest first. */
export const dueLooks = (
  table: Table,
  application: ApplicationId,
  moment: Instant,
  limit: number,
): Promise<Look[]> => {
  const range = { pk: partitions.look(application), sortKeyBefore: sortKeys.afterDueBy(moment) };
  return firstKnownItems(table, range, lookItem, limit);
};

const accountCustomerKey = once(() =>
  z.object({ pk: shape.text(), sk: shape.text(), customer: shape.customer() }),
);

export const createRetellTable = (table: Table): RetellTable => ({
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
        return account === null ? [] : [{ account, customer }];
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
    writeAll(
      table,
      looks.map((look) => lookWrite(application, look)),
    ),

  size: () => tableSize(table),
});
