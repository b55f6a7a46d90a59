import { GetCommand } from "@aws-sdk/lib-dynamodb";
import type { Credential } from "../applications/credential.ts";
import type { KeyId } from "../identifiers.ts";
import { credentialItem, fromCredentialItem } from "./application-items.ts";
import { keys } from "./keys.ts";
import { parseItem, type Table } from "./table.ts";

export type FindCredential = (keyIdentifier: KeyId) => Promise<Credential | null>;

/** One strongly consistent read. */
export const createFindCredential =
  ({ client, name: TableName }: Table): FindCredential =>
  async (keyIdentifier) => {
    const { Item } = await client.send(
      new GetCommand({ TableName, Key: keys.credential(keyIdentifier), ConsistentRead: true }),
    );
    return Item === undefined ? null : fromCredentialItem(parseItem(credentialItem, Item));
  };
