import { GetCommand } from "@aws-sdk/lib-dynamodb";
import type { Credential, CredentialSummary } from "../applications/credential.ts";
import type { Instant } from "../entitlements/time.ts";
import { keyId, type ApplicationId, type KeyId } from "../identifiers.ts";
import {
  credentialIndexItem,
  credentialItem,
  fromCredentialIndexItem,
  fromCredentialItem,
  toCredentialIndexItem,
  toCredentialItem,
} from "./application-items.ts";
import { absent, present, unrevoked } from "./conditions.ts";
import { keys, partitionOfApplication } from "./keys.ts";
import { queryItems } from "./query.ts";
import { parseItem, parseItems, type Table } from "./table.ts";
import { transact } from "./transactions.ts";
import { check, put, setAttributes } from "./writes.ts";

export type RevokeOutcome =
  | { readonly outcome: "revoked"; readonly credential: CredentialSummary; readonly already: boolean }
  | { readonly outcome: "not_found" };

/** Credentials in the table. All reads are strongly consistent. */
export interface CredentialTable {
  find(keyIdentifier: KeyId): Promise<Credential | null>;
  /** All credentials ever issued for an application, oldest first. */
  list(application: ApplicationId): Promise<readonly CredentialSummary[]>;
  /** Stores a new credential, unless its application does not exist. */
  add(credential: Credential): Promise<"added" | "application_not_found">;
  /** Revokes for good; an earlier revocation keeps its time. */
  revoke(keyIdentifier: KeyId, moment: Instant): Promise<RevokeOutcome>;
}

export const createCredentialTable = (table: Table): CredentialTable => {
  const { client, name: TableName } = table;

  const find = async (keyIdentifier: KeyId): Promise<Credential | null> => {
    const { Item } = await client.send(
      new GetCommand({ TableName, Key: keys.credential(keyIdentifier), ConsistentRead: true }),
    );
    return Item === undefined ? null : fromCredentialItem(parseItem(credentialItem, Item));
  };

  const list = async (application: ApplicationId): Promise<readonly CredentialSummary[]> => {
    const items = await queryItems(table, {
      pk: partitionOfApplication(application),
      sortKeyPrefix: keys.credentialOfApplication(application, keyId("")).sk,
    });
    return parseItems(credentialIndexItem, items)
      .map(fromCredentialIndexItem)
      .sort((a, b) => a.createdAt - b.createdAt);
  };

  const add = async (credential: Credential): Promise<"added" | "application_not_found"> => {
    const { application, keyIdentifier } = credential;
    const indexKey = keys.credentialOfApplication(application, keyIdentifier);
    const added = await transact(table, [
      check(TableName, keys.application(application), present),
      put(TableName, keys.credential(keyIdentifier), toCredentialItem(credential), absent),
      put(TableName, indexKey, toCredentialIndexItem(credential), absent),
    ]);
    if (added.outcome === "written") return "added";
    if (added.failed.has(0)) return "application_not_found";
    throw added.cause;
  };

  const revoke = async (keyIdentifier: KeyId, moment: Instant): Promise<RevokeOutcome> => {
    const credential = await find(keyIdentifier);
    if (credential === null) return { outcome: "not_found" };
    if (credential.revokedAt !== null) return { outcome: "revoked", credential, already: true };
    const revoked = await transact(
      table,
      [
        keys.credential(keyIdentifier),
        keys.credentialOfApplication(credential.application, keyIdentifier),
      ].map((key) => setAttributes(TableName, key, { revokedAt: moment }, unrevoked)),
    );
    if (revoked.outcome === "written")
      return { outcome: "revoked", credential: { ...credential, revokedAt: moment }, already: false };
    const meanwhile = revoked.failed.has(0) ? await find(keyIdentifier) : null;
    if (meanwhile === null || meanwhile.revokedAt === null) throw revoked.cause;
    return { outcome: "revoked", credential: meanwhile, already: true };
  };

  return { find, list, add, revoke };
};
