import * as z from "zod/mini";
import type { Audited } from "../../administration/acts/audit.ts";
import type { Credential, CredentialSummary, FindCredential } from "../../applications/credential.ts";
import { SCOPES } from "../../contract/schemas.ts";
import type { Instant } from "../../entitlements/time.ts";
import { keyId, type ApplicationId, type KeyId } from "../../identifiers.ts";
import { absent, present, unrevoked } from "../dynamodb/conditions.ts";
import { queryItems, readItem } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { parseItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { check, put, transact, update } from "../dynamodb/writes.ts";
import { keys, partitions } from "../keys.ts";
import { auditWrites } from "./audit.ts";

const credentialSummary = () => ({
  keyIdentifier: shape.branded<KeyId>(z.string().check(z.regex(/^[0-9a-f]{16}$/))),
  application: shape.application(),
  label: shape.nullableText(),
  // Scopes that only a later version knows are ignored.
  scopes: z.pipe(
    z.array(z.string()),
    z.transform((given) => SCOPES.filter((scope) => given.includes(scope))),
  ),
  createdAt: shape.integer(),
  expiresAt: shape.nullableInteger(),
  revokedAt: shape.nullableInteger(),
});

/** The application's entry of a credential, without the hash. A Query of its partition tells kinds apart. */
export const credentialIndexItem = () =>
  shape.mapped(
    z.object({ kind: z.literal("credential-index"), ...credentialSummary() }),
    (item): CredentialSummary => {
      const { kind: _, ...summary } = item;
      return summary;
    },
  );

export const credentialItem = () =>
  z.object({ ...credentialSummary(), secretHash: z.string().check(z.regex(/^[0-9a-f]{64}$/)) });

/** One strongly consistent read. */
export const createFindCredential =
  (table: Table): FindCredential =>
  (keyIdentifier) =>
    readItem(table, keys.credential(keyIdentifier), credentialItem);

/** All reads are strongly consistent. */
export const createCredentialTable = (table: Table) => {
  const find = createFindCredential(table);
  return {
    find,

    /** All credentials ever issued for an application, oldest first. */
    list: async (application: ApplicationId): Promise<readonly CredentialSummary[]> => {
      const sortKeyPrefix = keys.credentialOfApplication(application, keyId("")).sk;
      const items = await queryItems(table, { pk: partitions.application(application), sortKeyPrefix });
      return parseItems(credentialIndexItem, items).sort((a, b) => a.createdAt - b.createdAt);
    },

    /** Stores a new credential, unless its application does not exist. */
    add: async (credential: Credential, audit?: Audited): Promise<"added" | "application_not_found"> => {
      const { application, keyIdentifier } = credential;
      const { secretHash: _, ...summary } = credential;
      const index = { kind: "credential-index", ...summary } satisfies Attributes<typeof credentialIndexItem>;
      const added = await transact(table, [
        check(keys.application(application), present),
        put(keys.credential(keyIdentifier), credential satisfies Attributes<typeof credentialItem>, absent),
        put(keys.credentialOfApplication(application, keyIdentifier), index, absent),
        ...auditWrites(application, audit),
      ]);
      if (added.outcome === "written") return "added";
      if (added.failed.has(0)) return "application_not_found";
      throw added.cause;
    },

    /** Revokes for good; an earlier revocation keeps its time. */
    revoke: async (keyIdentifier: KeyId, moment: Instant, audit?: Audited) => {
      const credential = await find(keyIdentifier);
      if (credential === null) return { outcome: "not_found" } as const;
      if (credential.revokedAt !== null) return { outcome: "revoked", credential, already: true } as const;
      const { application } = credential;
      const ended = { revokedAt: moment } satisfies Pick<Attributes<typeof credentialItem>, "revokedAt">;
      const revoked = await transact(table, [
        update(keys.credential(keyIdentifier), ended, unrevoked),
        update(keys.credentialOfApplication(application, keyIdentifier), ended, unrevoked),
        ...auditWrites(application, audit),
      ]);
      if (revoked.outcome === "written")
        return { outcome: "revoked", credential: { ...credential, ...ended }, already: false } as const;
      const meanwhile = revoked.failed.has(0) ? await find(keyIdentifier) : null;
      if (meanwhile === null || meanwhile.revokedAt === null) throw revoked.cause;
      return { outcome: "revoked", credential: meanwhile, already: true } as const;
    },
  };
};
