import type { FindOwnership, Ownership } from "../administration/operation-table.ts";
import { paginateQuery } from "@aws-sdk/lib-dynamodb";
import { createBatchReader } from "./batch-reader.ts";
import { storedCustomer, storedPurchase } from "./customers.ts";
import { customerPartition, TABLE, type Key, identityOfKey, keyText } from "./keys.ts";
import type { Item, Table } from "./table.ts";

/** Fills {@link FindOwnership}, with a request for every hundred purchases. */
export const createFindOwnership = (
  table: Table,
  pause: (attempt: number) => Promise<void>,
): FindOwnership => {
  const findOwnership: FindOwnership = async (application, customer) => {
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
      identities: of("IDENTITY").map(({ pk, sk }) => {
        const key = { pk: String(pk), sk: String(sk) };
        return { item: keyText(key), customer, identity: identityOfKey(key) };
      }),
    };
    const beneath = await Promise.all(
      own.aliases.map(({ identifier }) => findOwnership(application, identifier)),
    );
    const all = [own, ...beneath];
    return {
      purchases: all.flatMap(({ purchases }) => purchases),
      aliases: all.flatMap(({ aliases }) => aliases),
      identities: all.flatMap(({ identities }) => identities),
    };
  };
  return findOwnership;
};
