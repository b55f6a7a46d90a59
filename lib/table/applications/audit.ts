import * as z from "zod/mini";
import type { Audited, AuditTable } from "../../administration/acts/audit.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { queryItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { knownItems, type Attributes, type Table } from "../dynamodb/table.ts";
import { put, transact, type Write } from "../dynamodb/writes.ts";
import { keys, partitions } from "../keys.ts";

const auditItem = () =>
  z.object({
    action: shape.text(),
    moment: shape.integer(),
    by: shape.text(),
    caller: shape.nullableText(),
    reason: shape.nullableText(),
    customer: z.nullable(shape.customer()),
    accounts: shape.texts(),
    what: shape.texts(),
  });

/** Writes an entry of an application's audit, in the transaction of the change that it records; unset: none. */
export const auditWrites = (application: ApplicationId, audited: Audited | undefined): Write[] => {
  if (audited === undefined) return [];
  const { entryIdentifier, entry } = audited;
  const key = keys.audit(application, entry.moment, entryIdentifier);
  return [put(key, entry satisfies Attributes<typeof auditItem>)];
};

export const createAuditTable = (table: Table): AuditTable => ({
  record: async (application, audited) => {
    const recorded = await transact(table, auditWrites(application, audited));
    if (recorded.outcome === "conflict") throw recorded.cause;
  },
  of: async (application) =>
    knownItems(auditItem, await queryItems(table, { pk: partitions.audit(application) })),
});
