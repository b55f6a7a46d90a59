import type { FindCredential } from "../../applications/authorize.ts";
import { credentialItem, fromCredentialItem } from "./application-items.ts";
import { keys } from "../keys.ts";
import { parseItem, readItem, type Table } from "../dynamodb/table.ts";

/** One strongly consistent read. */
export const createFindCredential =
  (table: Table): FindCredential =>
  async (keyIdentifier) => {
    const item = await readItem(table, keys.credential(keyIdentifier));
    return item === undefined ? null : fromCredentialItem(parseItem(credentialItem, item));
  };
