import { paginateScan } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { operatorChange, type OperationTable } from "../../administration/acts/operations.ts";
import { chunks } from "../../chunks.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { customerId, type ApplicationId } from "../../identifiers.ts";
import { auditWrites } from "../applications/audit.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { queryItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, parseItems, type Table } from "../dynamodb/table.ts";
import { deletion, ITEMS_PER_TRANSACTION, transact, type Write } from "../dynamodb/writes.ts";
import { keys, partitions } from "../keys.ts";
import { lookWrite } from "../telling/change-items.ts";
import { claimsDifferences, claimsWrite, countsThatEnd } from "./claims.ts";
import { absorbedDeletions, writeCustomerChange } from "./customer-change.ts";
import { transferItem } from "./items.ts";

const scannedCustomer = () =>
  z.object({ customer: shape.customer(), link: z.nullable(z.object({ account: shape.account() })) });

/** @param tells whether an application is told of changes */
export const createOperationTable = (
  table: Table,
  tells: (application: ApplicationId) => Promise<boolean>,
): OperationTable => {
  /** Removes a deleted customer from its account: its item, and its place in the claims counter. */
  const leaveAccount = async (application: ApplicationId, customer: StoredCustomer): Promise<Write[]> => {
    const { identifier, link } = customer;
    if (link === null) return [];
    const given = claimsDifferences({ before: customer, absorbed: [], after: { ...customer, link: null } });
    const ending = await countsThatEnd(table, application, given);
    return [
      deletion(keys.accountCustomer(application, link.account, identifier)),
      ...given.map((one) => claimsWrite(application, one, 0, ending)),
    ];
  };

  return {
    relink: async (application, customer, link, audit) =>
      writeCustomerChange(
        table,
        operatorChange(application, customer, { link }, audit.entry.moment, await tells(application)),
        audit,
      ),

    end: async (application, customer, audit) => {
      const { identifier, version, link } = customer;
      for (const items of absorbedDeletions(application, [customer]))
        if ((await transact(table, items)).outcome === "conflict") return "conflict";
      const cause = { customer: identifier, version, customers: [identifier], erased: true };
      const { outcome } = await transact(table, [
        deletion(keys.customer(application, identifier), versionUnchanged(version)),
        ...(await leaveAccount(application, customer)),
        ...(link !== null && (await tells(application))
          ? [lookWrite(application, { account: link.account, dueAt: audit.entry.moment, cause })]
          : []),
        ...auditWrites(application, audit),
      ]);
      return outcome;
    },

    forget: async (application, aliases) => {
      const deletions = aliases.map((alias) => deletion(keys.customer(application, alias)));
      for (const items of chunks(deletions, ITEMS_PER_TRANSACTION)) {
        const forgotten = await transact(table, items);
        if (forgotten.outcome === "conflict") throw forgotten.cause;
      }
    },

    transfersOf: async (application) =>
      knownItems(transferItem, await queryItems(table, { pk: partitions.transfers(application) })),

    customerPages: async function* (application, after) {
      const { client, name: TableName } = table;
      const start = after === null ? {} : { startingToken: keys.customer(application, after) };
      // One request per page. Items of a partition follow each other.
      const pages = paginateScan(
        { client, ...start },
        {
          TableName,
          ConsistentRead: true,
          FilterExpression: "begins_with(pk, :prefix) AND sk = :sk AND aliasOf = :none",
          ProjectionExpression: "pk, customer, link",
          ExpressionAttributeValues: {
            ":prefix": partitions.customer(application, customerId("")),
            ":sk": keys.customer(application, customerId("")).sk,
            ":none": null,
          },
        },
      );
      for await (const { Items } of pages) {
        const found = parseItems(scannedCustomer, Items);
        yield {
          customers: found.map(({ customer }) => customer),
          accounts: found.flatMap(({ link }) => link?.account ?? []),
        };
      }
    },
  };
};
