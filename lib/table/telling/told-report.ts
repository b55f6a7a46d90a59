import type { ToldTable } from "../../administration/reports/account-report.ts";
import { readItem } from "../dynamodb/reads.ts";
import type { Table } from "../dynamodb/table.ts";
import { keys } from "../keys.ts";
import { changeItem, toldOf } from "./change-items.ts";
import { deliveryItem } from "./delivery-queue.ts";
import { dueLooks } from "./looks.ts";

/** Number of due looks searched for an account. More are due only if telling is late. */
const LOOKS_SEARCHED = 300;

/** All reads are strongly consistent. */
export const createToldTable = (table: Table): ToldTable => ({
  toldOf: (application, account) => toldOf(table, application, account),
  changeAt: (application, place) => readItem(table, keys.change(application, place), changeItem),
  waitingOf: async (reference, account) => {
    const delivery = await readItem(table, keys.delivery(reference, account), deliveryItem);
    return delivery?.kind === "account" ? delivery : null;
  },
  lookDueSince: async (application, account, moment) => {
    const looks = await dueLooks(table, application, moment, LOOKS_SEARCHED);
    return looks.find((look) => look.account === account)?.dueAt ?? null;
  },
});
