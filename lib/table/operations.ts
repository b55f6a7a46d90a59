import type { OperationTable, AuditRecord } from "../administration/operation-table.ts";
import { paginateQuery, paginateScan, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../once.ts";
import { customerId, type ApplicationId, type CustomerId } from "../identifiers.ts";
import { claimsWrite, countsThatEnd } from "./claims.ts";
import { absorbedDeletions, claimOf, writeCustomerChange, auditWrites } from "./write-customer-change.ts";
import { operatorChange } from "../customers/customer-change.ts";
import { transferItem } from "./items.ts";
import { auditPartition, customerPartition, keys, transfersPartition } from "./keys.ts";
import type { StoredCustomer, Transfer } from "../customers/records.ts";
import * as shape from "./shapes.ts";
import { knownItems, parseItems, type Table } from "./table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./transactions.ts";
import { deletion, versionUnchanged } from "./writes.ts";

const customerOfItem = once(() => z.object({ customer: shape.branded<CustomerId>(shape.uuid()) }));

const auditItem = once(() =>
  z.object({
    action: shape.text(),
    customer: shape.branded<CustomerId>(shape.uuid()),
    moment: shape.integer(),
    by: shape.text(),
    reason: shape.text(),
  }),
);

export const createOperationTable = (table: Table): OperationTable => {
  const { client, name: TableName } = table;
  type Item = NonNullable<ConstructorParameters<typeof TransactWriteCommand>[0]["TransactItems"]>[number];

  const attempt = async (items: Item[]): Promise<"done" | "conflict"> => {
    try {
      await client.send(new TransactWriteCommand({ TransactItems: items }));
      return "done";
    } catch (error) {
      if (isConflict(error)) return "conflict";
      throw error;
    }
  };

  /** Removes a customer that ends from its account: its item, and its place in the count of claims. */
  const leaveAccount = async (application: ApplicationId, customer: StoredCustomer): Promise<Item[]> => {
    const { identifier, link } = customer;
    if (link === null) return [];
    const claim = claimOf(customer);
    const given = claim === null ? [] : [{ ...claim, by: -1 }];
    const ending = await countsThatEnd(table, application, given);
    return [
      deletion(TableName, keys.accountCustomer(application, link.account, identifier)),
      ...given.map((one) => claimsWrite(TableName, application, one, 0, ending.has(one.account))),
    ];
  };

  const pagesOf = (pk: string) =>
    paginateQuery(
      { client },
      {
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": pk },
        ConsistentRead: true,
      },
    );

  return {
    relink: (application, customer, link, audit) =>
      writeCustomerChange(
        table,
        operatorChange(
          application,
          customer,
          { link },
          audit.entry.moment,
          customer.unsettled && customer.link === link ? null : audit,
        ),
      ),

    end: async (application, customer, audit) => {
      for (const items of absorbedDeletions(TableName, application, [customer]))
        if ((await attempt(items)) === "conflict") return "conflict";
      return attempt([
        {
          Delete: {
            TableName,
            Key: { ...keys.customer(application, customer.identifier) },
            ...versionUnchanged(customer.version),
          },
        },
        ...(await leaveAccount(application, customer)),
        ...auditWrites(TableName, application, audit),
      ]);
    },

    forget: async (application, aliases) => {
      const items = aliases.map((alias) => deletion(TableName, keys.customer(application, alias)));
      for (let from = 0; from < items.length; from += ITEMS_PER_TRANSACTION)
        await client.send(
          new TransactWriteCommand({ TransactItems: items.slice(from, from + ITEMS_PER_TRANSACTION) }),
        );
    },

    auditOf: async (application) => {
      const entries: AuditRecord[] = [];
      for await (const page of pagesOf(auditPartition(application)))
        entries.push(...knownItems(auditItem, page.Items));
      return entries;
    },

    transfersOf: async (application) => {
      const transfers: Transfer[] = [];
      for await (const page of pagesOf(transfersPartition(application)))
        transfers.push(...knownItems(transferItem, page.Items));
      return transfers;
    },

    customersOf: async function* (application) {
      const pages = paginateScan(
        { client },
        {
          TableName,
          FilterExpression: "begins_with(pk, :prefix) AND sk = :sk AND aliasOf = :none",
          ProjectionExpression: "pk, customer",
          ExpressionAttributeValues: {
            ":prefix": customerPartition(application, customerId("")),
            ":sk": keys.customer(application, customerId("")).sk,
            ":none": null,
          },
          ConsistentRead: true,
        },
      );
      for await (const page of pages)
        yield parseItems(customerOfItem, page.Items).map(({ customer }) => customer);
    },
  };
};
