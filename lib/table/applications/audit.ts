import type { AuditTable } from "../../administration/reports/audit.ts";
import { auditItem } from "./audit-item.ts";
import { auditWrite } from "./audit-write.ts";
import { partitions } from "../keys.ts";
import { queryItems } from "../dynamodb/query.ts";
import { knownItems, type Table } from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";

export const createAuditTable = (table: Table): AuditTable => ({
  record: async (application, audited) => {
    const recorded = await transact(table, [auditWrite(table.name, application, audited)]);
    if (recorded.outcome === "conflict") throw recorded.cause;
  },

  of: async (application) =>
    knownItems(auditItem, await queryItems(table, { pk: partitions.audit(application) })).map(
      ({ caller = null, accounts = [], what = [], ...entry }) => ({ ...entry, caller, accounts, what }),
    ),
});
