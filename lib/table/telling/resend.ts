import type { ResendTable } from "../../administration/acts/resend.ts";
import { createBatchReader } from "../dynamodb/batch-reader.ts";
import { fromToldItem } from "./change-items.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { deliveryWrite } from "./deliveries.ts";
import { keys } from "../keys.ts";
import type { Table } from "../dynamodb/table.ts";
import { transact } from "../dynamodb/transactions.ts";
import { check } from "../dynamodb/writes.ts";

export const createResendTable = (table: Table): ResendTable => {
  const getAll = createBatchReader(table);
  return {
    newestOf: async (application, accounts) => {
      const found = await getAll(accounts.map((account) => keys.told(application, account)));
      return new Map([...found.values()].map(fromToldItem).map(({ account, version }) => [account, version]));
    },

    deliverAgain: async ({ application, destination }, version, since) => {
      const written = await transact(table, [
        check(table.name, keys.told(application, version.account), versionUnchanged(version.version)),
        deliveryWrite(table.name, application, destination, { ...version, since }),
      ]);
      if (written.outcome === "written") return "written";
      return written.failed.has(0) ? "newer" : "conflict";
    },
  };
};
