import type { Audited } from "../../administration/acts/audit-entry.ts";
import type { Credential, CredentialSummary } from "../../applications/credential.ts";
import type { Instant } from "../../entitlements/time.ts";
import { keyId, type ApplicationId, type KeyId } from "../../identifiers.ts";
import {
  credentialIndexItem,
  type credentialItem,
  fromCredentialIndexItem,
  toCredentialIndexItem,
  toCredentialItem,
} from "./application-items.ts";
import { auditWrite } from "./audit-write.ts";
import { absent, present, unrevoked } from "../dynamodb/conditions.ts";
import { createFindCredential } from "./find-credential.ts";
import { keys, partitions } from "../keys.ts";
import { queryItems } from "../dynamodb/query.ts";
import { parseItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";
import { check, put, setAttributes } from "../dynamodb/writes.ts";

/** All reads are strongly consistent. */
export const createCredentialTable = (table: Table) => {
  const { name: TableName } = table;
  const find = createFindCredential(table);

  /** All credentials ever issued for an application, oldest first. */
  const list = async (application: ApplicationId): Promise<readonly CredentialSummary[]> => {
    const items = await queryItems(table, {
      pk: partitions.application(application),
      sortKeyPrefix: keys.credentialOfApplication(application, keyId("")).sk,
    });
    return parseItems(credentialIndexItem, items)
      .map(fromCredentialIndexItem)
      .sort((a, b) => a.createdAt - b.createdAt);
  };

  /** Stores a new credential, unless its application does not exist. */
  const add = async (credential: Credential, audit?: Audited): Promise<"added" | "application_not_found"> => {
    const { application, keyIdentifier } = credential;
    const indexKey = keys.credentialOfApplication(application, keyIdentifier);
    const added = await transact(table, [
      check(TableName, keys.application(application), present),
      put(TableName, keys.credential(keyIdentifier), toCredentialItem(credential), absent),
      put(TableName, indexKey, toCredentialIndexItem(credential), absent),
      ...(audit === undefined ? [] : [auditWrite(TableName, application, audit)]),
    ]);
    if (added.outcome === "written") return "added";
    if (added.failed.has(0)) return "application_not_found";
    throw added.cause;
  };

  /** Revokes for good; an earlier revocation keeps its time. */
  const revoke = async (keyIdentifier: KeyId, moment: Instant, audit?: Audited) => {
    const credential = await find(keyIdentifier);
    if (credential === null) return { outcome: "not_found" } as const;
    if (credential.revokedAt !== null) return { outcome: "revoked", credential, already: true } as const;
    const { application } = credential;
    const ended = { revokedAt: moment } satisfies Pick<Attributes<typeof credentialItem>, "revokedAt">;
    const revoked = await transact(table, [
      ...[keys.credential(keyIdentifier), keys.credentialOfApplication(application, keyIdentifier)].map(
        (key) => setAttributes(TableName, key, ended, unrevoked),
      ),
      ...(audit === undefined ? [] : [auditWrite(TableName, application, audit)]),
    ]);
    if (revoked.outcome === "written")
      return {
        outcome: "revoked",
        credential: { ...credential, revokedAt: moment },
        already: false,
      } as const;
    const meanwhile = revoked.failed.has(0) ? await find(keyIdentifier) : null;
    if (meanwhile === null || meanwhile.revokedAt === null) throw revoked.cause;
    return { outcome: "revoked", credential: meanwhile, already: true } as const;
  };

  return { find, list, add, revoke };
};
export type CredentialTable = ReturnType<typeof createCredentialTable>;
