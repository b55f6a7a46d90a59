import type { ReportedCustomer } from "../../lib/administration/reports/account-report.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { NOW } from "./stores/purchases.ts";

/** A customer of an operator's report, whom a client has claimed. */
export const aReportedCustomer = (
  purchases: readonly Purchase[],
  changes: Partial<ReportedCustomer> = {},
): ReportedCustomer => ({
  customerIdentifier: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  link: { account: accountId("user-1"), assertedBy: "client", linkedAt: NOW },
  createdAt: NOW,
  aliases: [],
  identities: [],
  purchases,
  asking: new Map(),
  ...changes,
});
