import type { Audited } from "../../administration/acts/audit-entry.ts";
import type { ApplicationId } from "../../identifiers.ts";
import type { auditItem } from "./audit-item.ts";
import { keys } from "../keys.ts";
import type { Attributes } from "../dynamodb/table.ts";
import { put, type TransactItem } from "../dynamodb/writes.ts";

/** Writes an entry of an application's audit, in the transaction of the change that it records. */
export const auditWrite = (
  table: string,
  application: ApplicationId,
  { entryIdentifier, entry }: Audited,
): TransactItem =>
  put(
    table,
    keys.audit(application, entry.moment, entryIdentifier),
    entry satisfies Attributes<typeof auditItem>,
  );
