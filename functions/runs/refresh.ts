import { refreshDuePurchases, type RefreshReport } from "../../lib/customers/refresh-due-purchases.ts";
import type { RefreshRun } from "../../lib/customers/refresh-queue-turn.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { endOf, type Invocation } from "./invocation.ts";
import { logger } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";

const report = (store: Store, { refreshed, failed, oldest, paused }: RefreshReport): void => {
  if (refreshed + failed > 0 || paused.length > 0)
    logger.info("purchases refreshed", {
      store,
      refreshed,
      failed,
      oldestMilliseconds: oldest,
      paused: paused.map(({ failingSince, until, ...queue }) => ({
        ...queue,
        failingSince: isoTime(failingSince),
        until: isoTime(until),
      })),
    });
  if (refreshed > 0) count("refreshes", { store, outcome: "OK" }, refreshed);
  if (failed > 0) count("refreshes", { store, outcome: "FAILED" }, failed);
  if (oldest > 0) time("refreshAge", oldest, { store });
};

/** Refreshes the due purchases of all applications. */
export const refresh = async (run: RefreshRun, context: Invocation): Promise<RefreshReport> => {
  const done = await refreshDuePurchases(run, endOf(context));
  report(run.store, done);
  return done;
};
