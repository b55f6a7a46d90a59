import type { Store } from "../../lib/contract/schemas.ts";
import type { SweepReport } from "../../lib/customers/notifications/sweep.ts";
import { logger } from "../observability/logger.ts";
import { count } from "../observability/metrics.ts";

/** Logs and counts a sweep. */
export const reportSweep = (store: Store, done: SweepReport): SweepReport => {
  if (done.found + done.behind > 0) logger.info("store's list swept", { store, ...done });
  if (done.behind > 0) count("sweepsBehind", { store }, done.behind);
  if (done.found > 0) count("swept", { store }, done.found);
  return done;
};
