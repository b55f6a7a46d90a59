import { paginateQuery, paginateScan, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { once } from "../once.ts";
import type { Instant } from "../entitlements/time.ts";
import { customerId, type AccountId, type ApplicationId, type CustomerId } from "../identifiers.ts";
import { isConflict, ITEMS_PER_TRANSACTION } from "./customer-change.ts";
import {
  acknowledgementKey,
  auditKey,
  auditPartition,
  customerPartition,
  keys,
  TABLE,
  type Key,
} from "./keys.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";
import * as shape from "./shapes.ts";
import { parseItems, type Table } from "./table.ts";

/** What an operator did to a customer: who, when and why. It names no account and no purchase, so it outlives an erasure. */
export interface AuditEntry {
  readonly action: "unlink" | "erase";
  readonly customer: CustomerId;
  readonly moment: Instant;
  readonly by: string;
  readonly reason: string;
}

const customerOfItem = once(() => z.object({ customer: shape.branded<CustomerId>(shape.uuid()) }));

const auditItem = once(() =>
  z.object({
    action: z.enum(["unlink", "erase"]),
    customer: shape.branded<CustomerId>(shape.uuid()),
    moment: shape.integer(),
    by: shape.text(),
    reason: shape.text(),
  }),
);

/** Writes of the operator alone: no function of the service may send them. */
export interface OperationTable {
  /** Takes a customer away from its account. */
  unlink(
    application: ApplicationId,
    customer: StoredCustomer,
    audit: AuditEntry,
    entry: string,
  ): Promise<"done" | "conflict">;
  /**
   * Ends a customer: from here on whatever names it is refused, and nobody can write anything for it any more. What it
   * owned is replaced by {@link bury} afterwards.
   */
  end(
    application: ApplicationId,
    customer: StoredCustomer,
    audit: AuditEntry,
    entry: string,
  ): Promise<"done" | "conflict">;
  /** Replaces purchases and identities by tombstones that expire, and deletes aliases. Safe to do again. */
  bury(
    application: ApplicationId,
    owned: {
      readonly purchases: readonly StoredPurchase[];
      readonly identities: readonly Key[];
      readonly aliases: readonly CustomerId[];
    },
    erasedUntil: Instant,
  ): Promise<void>;
  auditOf(application: ApplicationId): Promise<readonly AuditEntry[]>;
  /** Every living customer of an application, a page at a time. Reads the whole table: for the operator, seldom. */
  customersOf(application: ApplicationId): AsyncIterable<readonly CustomerId[]>;
}

const SECOND = 1000;

export const createOperationTable = ({ client, name: TableName }: Table): OperationTable => {
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

  const unmoved = ({ version }: StoredCustomer) => ({
    ConditionExpression: "version = :version",
    ExpressionAttributeValues: { ":version": version },
  });

  const removeFromAccount = (
    application: ApplicationId,
    { identifier }: StoredCustomer,
    account: AccountId,
  ) => ({
    Delete: { TableName, Key: { ...keys.accountCustomer(application, account, identifier) } },
  });

  const record = (application: ApplicationId, audit: AuditEntry, entry: string): Item => ({
    Put: { TableName, Item: { ...auditKey(application, audit.moment, entry), ...audit } },
  });

  return {
    unlink: (application, customer, audit, entry) =>
      attempt([
        {
          Update: {
            TableName,
            Key: { ...keys.customer(application, customer.identifier) },
            UpdateExpression: "SET link = :none, version = :next",
            ConditionExpression: "version = :version",
            ExpressionAttributeValues: {
              ":none": null,
              ":version": customer.version,
              ":next": customer.version + 1,
            },
          },
        },
        ...(customer.link === null ? [] : [removeFromAccount(application, customer, customer.link.account)]),
        record(application, audit, entry),
      ]),

    end: (application, customer, audit, entry) =>
      attempt([
        {
          Delete: {
            TableName,
            Key: { ...keys.customer(application, customer.identifier) },
            ...unmoved(customer),
          },
        },
        ...(customer.link === null ? [] : [removeFromAccount(application, customer, customer.link.account)]),
        record(application, audit, entry),
      ]),

    bury: async (application, { purchases, identities, aliases }, erasedUntil) => {
      const tombstone = (key: Key): Item => ({
        Put: {
          TableName,
          Item: {
            ...key,
            erasedUntil,
            [TABLE.timeToLiveAttribute]: Math.ceil(erasedUntil / SECOND),
          },
        },
      });
      const items: Item[] = [
        ...purchases.flatMap(({ purchase, acknowledgementDueSince }) => [
          tombstone(keys.purchase(application, purchase)),
          ...(acknowledgementDueSince === null
            ? []
            : [
                {
                  Delete: {
                    TableName,
                    Key: { ...acknowledgementKey(application, purchase, acknowledgementDueSince) },
                  },
                },
              ]),
        ]),
        ...identities.map(tombstone),
        ...aliases.map((alias) => ({
          Delete: { TableName, Key: { ...keys.customer(application, alias) } },
        })),
      ];
      for (let from = 0; from < items.length; from += ITEMS_PER_TRANSACTION)
        await client.send(
          new TransactWriteCommand({ TransactItems: items.slice(from, from + ITEMS_PER_TRANSACTION) }),
        );
    },

    auditOf: async (application) => {
      const entries: AuditEntry[] = [];
      const pages = paginateQuery(
        { client },
        {
          TableName,
          KeyConditionExpression: "pk = :pk",
          ExpressionAttributeValues: { ":pk": auditPartition(application) },
          ConsistentRead: true,
        },
      );
      for await (const page of pages) entries.push(...parseItems(auditItem, page.Items));
      return entries;
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
