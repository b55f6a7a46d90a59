import * as z from "zod/mini";
import { operatorChange, type OperationTable } from "../../administration/acts/operation-table.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { customerId, type ApplicationId, type CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { auditWrite } from "../applications/audit-write.ts";
import { chunks } from "../../chunks.ts";
import { claimOf, claimsWrite, countsThatEnd } from "./claims.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { transferItem } from "./items.ts";
import { keys, partitions } from "../keys.ts";
import { lookWrite } from "../telling/looks.ts";
import { queryItems } from "../dynamodb/query.ts";
import { scanPages } from "../dynamodb/scan.ts";
import * as shape from "../dynamodb/shapes.ts";
import { tableSize } from "../dynamodb/table-size.ts";
import { knownItems, parseItems, type Table } from "../dynamodb/table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "../dynamodb/transactions.ts";
import { absorbedDeletions, writeCustomerChange } from "./write-customer-change.ts";
import { deletion, type TransactItem } from "../dynamodb/writes.ts";

const customerOfItem = once(() => z.object({ customer: shape.branded<CustomerId>(shape.uuid()) }));

/** @param tells whether an application is told of changes */
export const createOperationTable = (
  table: Table,
  tells: (application: ApplicationId) => Promise<boolean>,
): OperationTable => {
  const { name: TableName } = table;
  /** Removes a deleted customer from its account: its item, and its place in the claims counter. */
  const leaveAccount = async (
    application: ApplicationId,
    customer: StoredCustomer,
  ): Promise<TransactItem[]> => {
    const { identifier, link } = customer;
    if (link === null) return [];
    const claim = claimOf(customer);
    const given = claim === null ? [] : [{ ...claim, by: -1 }];
    const ending = await countsThatEnd(table, application, given);
    return [
      deletion(TableName, keys.accountCustomer(application, link.account, identifier)),
      ...given.map((one) =>
        claimsWrite(TableName, application, one, { limit: 0, ends: ending.has(one.account) }),
      ),
    ];
  };

  const customerPages: OperationTable["customerPages"] = async function* (application, after) {
    const pages = scanPages(table, {
      FilterExpression: "begins_with(pk, :prefix) AND sk = :sk AND aliasOf = :none",
      ProjectionExpression: "pk, customer",
      ExpressionAttributeValues: {
        ":prefix": partitions.customer(application, customerId("")),
        ":sk": keys.customer(application, customerId("")).sk,
        ":none": null,
      },
      after: after === null ? null : keys.customer(application, after.customer),
      scannedBefore: after?.scanned ?? 0,
    });
    for await (const { items, scanned } of pages) {
      const customers = parseItems(customerOfItem, items).map(({ customer }) => customer);
      const last = customers.at(-1);
      yield { customers, position: last === undefined ? null : { customer: last, scanned }, scanned };
    }
  };

  return {
    relink: async (application, customer, link, audit) =>
      writeCustomerChange(
        table,
        operatorChange(application, customer, { link }, audit.entry.moment, await tells(application)),
        { audit },
      ),

    end: async (application, customer, audit) => {
      const customerDeletion = deletion(
        TableName,
        keys.customer(application, customer.identifier),
        versionUnchanged(customer.version),
      );
      for (const items of absorbedDeletions(TableName, application, [customer]))
        if ((await transact(table, items)).outcome === "conflict") return "conflict";
      const { outcome } = await transact(table, [
        customerDeletion,
        ...(await leaveAccount(application, customer)),
        ...(customer.link !== null && (await tells(application))
          ? [
              lookWrite(TableName, application, {
                account: customer.link.account,
                dueAt: audit.entry.moment,
                cause: {
                  customer: customer.identifier,
                  version: customer.version,
                  customers: [customer.identifier],
                  erased: true,
                },
              }),
            ]
          : []),
        auditWrite(TableName, application, audit),
      ]);
      return outcome;
    },

    forget: async (application, aliases) => {
      const deletions = aliases.map((alias) => deletion(TableName, keys.customer(application, alias)));
      for (const items of chunks(deletions, ITEMS_PER_TRANSACTION)) {
        const forgotten = await transact(table, items);
        if (forgotten.outcome === "conflict") throw forgotten.cause;
      }
    },

    transfersOf: async (application) =>
      knownItems(transferItem, await queryItems(table, { pk: partitions.transfers(application) })),

    customerPages,

    size: () => tableSize(table),
  };
};
