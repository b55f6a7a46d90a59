import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { GetCommand, TransactWriteCommand, paginateQuery } from "@aws-sdk/lib-dynamodb";
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
import { keys, partitionOfApplication } from "./keys.ts";
import { absent, parseItem, parseItems, type Table } from "./table.ts";

export type RevokeOutcome =
  | { readonly outcome: "revoked"; readonly credential: CredentialSummary; readonly already: boolean }
  | { readonly outcome: "not_found" };

/** What the table knows of credentials. All reads are strongly consistent. */
export interface CredentialTable {
  find(keyIdentifier: KeyId): Promise<Credential | null>;
  /** All that were ever issued for an application, the oldest first. */
  list(application: ApplicationId): Promise<readonly CredentialSummary[]>;
  /** Stores a new credential, unless its application does not exist. */
  add(credential: Credential): Promise<"added" | "application_not_found">;
  /** Revokes for good; a credential that was revoked before keeps its time. */
  revoke(keyIdentifier: KeyId, moment: Instant): Promise<RevokeOutcome>;
}

const present = "attribute_exists(pk)";
const unrevoked = `${present} AND revokedAt = :none`;

const failedAt = (error: unknown): readonly boolean[] | null =>
  error instanceof TransactionCanceledException
    ? (error.CancellationReasons ?? []).map(({ Code }) => Code === "ConditionalCheckFailed")
    : null;

export const createCredentialTable = ({ client, name: TableName }: Table): CredentialTable => {
  const find = async (keyIdentifier: KeyId): Promise<Credential | null> => {
    const { Item } = await client.send(
      new GetCommand({ TableName, Key: keys.credential(keyIdentifier), ConsistentRead: true }),
    );
    return Item === undefined ? null : fromCredentialItem(parseItem(credentialItem, Item));
  };

  const list = async (application: ApplicationId): Promise<readonly CredentialSummary[]> => {
    const summaries: CredentialSummary[] = [];
    const pages = paginateQuery(
      { client },
      {
        TableName,
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues: {
          ":pk": partitionOfApplication(application),
          ":prefix": keys.credentialOfApplication(application, keyId("")).sk,
        },
        ConsistentRead: true,
      },
    );
    for await (const page of pages)
      summaries.push(...parseItems(credentialIndexItem, page.Items).map(fromCredentialIndexItem));
    return summaries.sort((a, b) => a.createdAt - b.createdAt);
  };

  const add = async (credential: Credential): Promise<"added" | "application_not_found"> => {
    const { application, keyIdentifier } = credential;
    try {
      await client.send(
        new TransactWriteCommand({
          TransactItems: [
            {
              ConditionCheck: {
                TableName,
                Key: keys.application(application),
                ConditionExpression: present,
              },
            },
            {
              Put: {
                TableName,
                Item: { ...keys.credential(keyIdentifier), ...toCredentialItem(credential) },
                ConditionExpression: absent,
              },
            },
            {
              Put: {
                TableName,
                Item: {
                  ...keys.credentialOfApplication(application, keyIdentifier),
                  ...toCredentialIndexItem(credential),
                },
                ConditionExpression: absent,
              },
            },
          ],
        }),
      );
      return "added";
    } catch (error) {
      if (failedAt(error)?.[0] === true) return "application_not_found";
      throw error;
    }
  };

  const revoke = async (keyIdentifier: KeyId, moment: Instant): Promise<RevokeOutcome> => {
    const credential = await find(keyIdentifier);
    if (credential === null) return { outcome: "not_found" };
    if (credential.revokedAt !== null) return { outcome: "revoked", credential, already: true };
    const revokes = (Key: Record<string, unknown>) => ({
      Update: {
        TableName,
        Key,
        UpdateExpression: "SET revokedAt = :moment",
        ConditionExpression: unrevoked,
        ExpressionAttributeValues: { ":moment": moment, ":none": null },
      },
    });
    try {
      await client.send(
        new TransactWriteCommand({
          TransactItems: [
            revokes({ ...keys.credential(keyIdentifier) }),
            revokes({ ...keys.credentialOfApplication(credential.application, keyIdentifier) }),
          ],
        }),
      );
      return { outcome: "revoked", credential: { ...credential, revokedAt: moment }, already: false };
    } catch (error) {
      const meanwhile = failedAt(error)?.[0] === true ? await find(keyIdentifier) : null;
      if (meanwhile === null || meanwhile.revokedAt === null) throw error;
      return { outcome: "revoked", credential: meanwhile, already: true };
    }
  };

  return { find, list, add, revoke };
};
