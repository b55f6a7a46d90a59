import { paginateQuery } from "@aws-sdk/lib-dynamodb";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { createBatchReader } from "./batch-reader.ts";
import { storedCustomer, storedPurchase } from "./customers.ts";
import { customerPartition, TABLE, type Key } from "./keys.ts";
import type { StoredCustomer, StoredPurchase } from "./records.ts";
import type { Table } from "./table.ts";

/** All that belongs to a customer, its aliases' included. */
export interface Ownership {
  readonly purchases: readonly StoredPurchase[];
  /** Customers that were merged into it. */
  readonly aliases: readonly StoredCustomer[];
  /** Keys of its identities other than purchases. */
  readonly identities: readonly Key[];
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
  const owned: Key[] = [];
  const pages = paginateQuery(
    { client: table.client },
    {
      TableName: table.name,
      IndexName: TABLE.ownerIndex,
      KeyConditionExpression: "#owner = :owner",
      ExpressionAttributeNames: { "#owner": TABLE.ownerAttribute },
      ExpressionAttributeValues: { ":owner": customerPartition(application, customer) },
    },
  );
  for await (const page of pages)
    owned.push(...(page.Items ?? []).map((item) => ({ pk: String(item["pk"]), sk: String(item["sk"]) })));

  const of = (sk: string): Key[] => owned.filter((key) => key.sk === sk);
  const items = await createBatchReader(table, pause)([...of("PURCHASE"), ...of("CUSTOMER")]);
  const read = [...items.values()];
  const own: Ownership = {
    purchases: read.filter(({ sk }) => sk === "PURCHASE").map(storedPurchase),
    aliases: read.filter(({ sk }) => sk === "CUSTOMER").map(storedCustomer),
    identities: of("IDENTITY"),
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
