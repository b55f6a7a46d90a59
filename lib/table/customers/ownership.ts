import { compare } from "../../order.ts";
import { queryItems } from "../dynamodb/query.ts";
import type { FindOwnership, Ownership } from "../../administration/acts/operation-table.ts";
import { createBatchReader } from "../dynamodb/batch-reader.ts";
import { storedCustomer, storedPurchase } from "./customers.ts";
import { keyText, TABLE } from "../dynamodb/key.ts";
import { partitions } from "../keys.ts";
import { identityOfKey } from "../named-by-key.ts";
import { keyIn, type Item, type Table } from "../dynamodb/table.ts";

/** Implements {@link FindOwnership}, with one read per hundred items. */
export const createFindOwnership = (table: Table): FindOwnership => {
  const findOwnership: FindOwnership = async (application, customer) => {
    const owner = partitions.customer(application, customer);
    const found = await queryItems(table, {
      pk: owner,
      index: { name: TABLE.ownerIndex, partitionKey: TABLE.ownerAttribute },
    });
    const owned = found.map(keyIn);
    // The index defines no order.
    owned.sort((a, b) => compare(a.pk, b.pk));

    // The index may lag: an item may be gone or have another owner by now, so the item itself decides.
    const items = await createBatchReader(table)(owned);
    const read = [...items.values()].filter((item) => item[TABLE.ownerAttribute] === owner);
    const of = (kind: string): Item[] => read.filter(({ sk }) => sk === kind);
    const own: Ownership = {
      purchases: of("PURCHASE").map(storedPurchase),
      aliases: of("CUSTOMER").map(storedCustomer),
      identities: of("IDENTITY").map((item) => {
        const key = keyIn(item);
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
