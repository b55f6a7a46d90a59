import { changesFacts, type TableAccess } from "../lib/contract/table-access.ts";
import type { FunctionName } from "./parameters.ts";

/** Access of a function that works for all applications. */
const ofAllApplications = ({ reads, ...access }: TableAccess): TableAccess => ({
  ...access,
  reads: [...reads, "application-list"],
});

/** Access of the functions other than endpoints; an endpoint's data has its own. */
export const FUNCTION_ACCESS = {
  authorizeCredential: { by: "gets", reads: ["credential"], changes: [] },
  watchNotifications: { by: "queries", reads: ["application", "notification"], changes: [] },
  acknowledgeDuePurchases: {
    by: "changes",
    reads: ["application", "customer"],
    changes: ["purchase", "acknowledgement"],
  },
  refreshIosStorePurchases: ofAllApplications(changesFacts("ios-store")),
  refreshAndroidStorePurchases: ofAllApplications(changesFacts("android-store")),
  sweepAndroidStoreRefunds: ofAllApplications(changesFacts("android-store")),
  // It processes undelivered notifications, including stores' requests.
  sweepIosStoreNotifications: ofAllApplications(
    changesFacts("ios-store", { reads: ["store-registration"], changes: ["delivery"] }),
  ),
  tellChanges: ofAllApplications({
    by: "changes",
    reads: ["application", "account"],
    changes: ["look", "told", "change", "delivery"],
  }),
  deliverMessages: ofAllApplications({
    by: "changes",
    reads: ["application", "change"],
    changes: ["delivery"],
  }),
} as const satisfies Readonly<Partial<Record<FunctionName, TableAccess>>>;
