import { paginateQuery } from "@aws-sdk/lib-dynamodb";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { createBatchReader } from "./batch-reader.ts";
import { storedCustomer, storedPurchase } from "./customers.ts";
import { customerPartition, TABLE, type Key } from "./keys.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";
import type { Item, Table } from "./table.ts";

/** All that belongs to a customer, its aliases' included. */
export interface Ownership {
  readonly purchases: readonly StoredPurchase[];
  /** Customers that were merged into it. */
  readonly aliases: readonly StoredCustomer[];
  /** Its identities other than purchases: their keys, and the customer that each was stored for. */
  readonly identities: readonly OwnedIdentity[];
}

export interface OwnedIdentity {
  readonly key: Key;
  readonly customer: CustomerId;
}

/**
 * Everything a customer owns, found by the index. For the operator: it costs a request for every hundred purchases, and
 * the index may be a moment behind.
 */
export const findOwnership = async (
  table: Table,
  application: ApplicationId,
  customer: CustomerId,
  pause: (attempt: number) => Promise<void>,
): Promise<Ownership> => {
  const owner = customerPartition(application, customer);
  const owned: Key[] = [];
  const pages = paginateQuery(
    { client: table.client },
    {
      TableName: table.name,
      IndexName: TABLE.ownerIndex,
      KeyConditionExpression: "#owner = :owner",
      ExpressionAttributeNames: { "#owner": TABLE.ownerAttribute },
      ExpressionAttributeValues: { ":owner": owner },
    },
  );
  for await (const page of pages)
    owned.push(...(page.Items ?? []).map((item) => ({ pk: String(item["pk"]), sk: String(item["sk"]) })));
  // The index has no order of its own.
  owned.sort((a, b) => (a.pk < b.pk ? -1 : 1));

  // What the index shows may be gone or another's by now: the items themselves say whose they are.
  const items = await createBatchReader(table, pause)(owned);
  const read = [...items.values()].filter((item) => item[TABLE.ownerAttribute] === owner);
  const of = (kind: string): Item[] => read.filter(({ sk }) => sk === kind);
  const own: Ownership = {
    purchases: of("PURCHASE").map(storedPurchase),
    aliases: of("CUSTOMER").map(storedCustomer),
    identities: of("IDENTITY").map(({ pk, sk }) => ({ key: { pk: String(pk), sk: String(sk) }, customer })),
  };
  const beneath = await Promise.all(
    own.aliases.map(({ identifier }) => findOwnership(table, application, identifier, pause)),
  );
  const all = [own, ...beneath];
  return {
    purchases: all.flatMap(({ purchases }) => purchases),
    aliases: all.flatMap(({ aliases }) => aliases),
    identities: all.flatMap(({ identities }) => identities),
  };
};
