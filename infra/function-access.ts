import { changesFacts, type TableAccess } from "../lib/contract/table-access.ts";

/** Access of a function that works for all applications. */
const ofAllApplications = ({ reads, ...access }: TableAccess): TableAccess => ({
  ...access,
  reads: [...reads, "application-list"],
});

/** Access of the functions that are no endpoints. */
export const ACCESS = {
  authorizer: { by: "gets", reads: ["credential"], changes: [] },
  watcher: { by: "queries", reads: ["application", "notification"], changes: [] },
  acknowledger: {
    by: "changes",
    reads: ["application", "customer"],
    changes: ["purchase", "acknowledgement"],
  },
  iosRefresher: ofAllApplications(changesFacts("ios-store")),
  androidRefresher: ofAllApplications(changesFacts("android-store")),
  androidSweeper: ofAllApplications(changesFacts("android-store")),
  // It receives what was not delivered, stores' requests included.
  iosSweeper: ofAllApplications(
    changesFacts("ios-store", { reads: ["store-registration"], changes: ["delivery"] }),
  ),
  teller: ofAllApplications({
    by: "changes",
    reads: ["application", "account"],
    changes: ["look", "told", "change", "delivery"],
  }),
  deliverer: ofAllApplications({ by: "changes", reads: ["application", "change"], changes: ["delivery"] }),
} as const satisfies Record<string, TableAccess>;
