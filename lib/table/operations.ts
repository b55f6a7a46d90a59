import { paginateQuery, paginateScan, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../once.ts";
import type { Instant } from "../entitlements/time.ts";
import { customerId, type ApplicationId, type CustomerId } from "../identifiers.ts";
import { claimsWrite, countsThatEnd } from "./claims.ts";
import { absorbedDeletions, claimOf, operatorChange, writeCustomerChange } from "./customer-change.ts";
import { transferItem } from "./items.ts";
import { auditKey, auditPartition, customerPartition, keys, transfersPartition } from "./keys.ts";
import type { Link, StoredCustomer, Transfer } from "./records.ts";
import * as shape from "./shapes.ts";
import { knownItems, parseItems, type Table } from "./table.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./transactions.ts";
import { deletion, versionUnchanged } from "./writes.ts";

/** What an operator did to a customer: who, when and why. It names no account and no purchase, so it outlives an erasure. */
export interface AuditEntry {
  readonly action: "unlink" | "move" | "erase";
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly by: string;
  readonly reason: string;
}

/** An entry as it is read: a later version may know further actions. */
export type AuditRecord = Omit<AuditEntry, "action"> & { readonly action: string };

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

/** Writes of the operator alone: no function of the service may send them. */
export interface OperationTable {
  /**
   * Takes a customer away from its account; to another one, where that is given. A move that broke off is completed with
   * the link it has, and is in the audit already.
   */
  relink(
    application: ApplicationId,
    customer: StoredCustomer,
    link: Link | null,
    audit: AuditEntry,
    entry: string,
  ): Promise<"written" | "conflict">;
  /**
   * Ends a customer: from here on whatever names it is refused, and nobody can write anything for it any more. What it
   * owned is replaced by `bury` afterwards.
   */
  end(
    application: ApplicationId,
    customer: StoredCustomer,
    audit: AuditEntry,
    entry: string,
  ): Promise<"done" | "conflict">;
  /** Deletes aliases that lead nowhere any more. */
  forget(application: ApplicationId, aliases: readonly CustomerId[]): Promise<void>;
  auditOf(application: ApplicationId): Promise<readonly AuditRecord[]>;
  /** Transfers of customers by links, oldest first. */
  transfersOf(application: ApplicationId): Promise<readonly Transfer[]>;
  /** Every living customer of an application, a page at a time. Reads the whole table: for the operator, seldom. */
  customersOf(application: ApplicationId): AsyncIterable<readonly CustomerId[]>;
}

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

  const record = (application: ApplicationId, audit: AuditEntry, entry: string) => ({
    key: auditKey(application, audit.moment, entry),
    attributes: audit,
  });

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
    relink: (application, customer, link, audit, entry) =>
      writeCustomerChange(
        table,
        operatorChange(
          application,
          customer,
          { link },
          audit.moment,
          customer.unsettled && customer.link === link ? [] : [record(application, audit, entry)],
        ),
      ),

    end: async (application, customer, audit, entry) => {
      for (const items of absorbedDeletions(TableName, application, [customer]))
        if ((await attempt(items)) === "conflict") return "conflict";
      const { key, attributes } = record(application, audit, entry);
      return attempt([
        {
          Delete: {
            TableName,
            Key: { ...keys.customer(application, customer.identifier) },
            ...versionUnchanged(customer.version),
          },
        },
        ...(await leaveAccount(application, customer)),
        { Put: { TableName, Item: { ...key, ...attributes } } },
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
