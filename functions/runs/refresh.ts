import {
  askDuePurchases,
  type AskReport,
  type AskRun,
} from "../../lib/customers/asking/ask-due-purchases.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { endOf, type Invocation } from "./invocation.ts";
import { logger } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";

const report = (store: Store, { asked, failed, oldest, paused, acknowledgements }: AskReport): void => {
  if (asked + failed > 0 || paused.length > 0)
    logger.info("purchases refreshed", {
      store,
      asked,
      failed,
      oldestMilliseconds: oldest,
      paused: paused.map(({ failingSince, until, ...queue }) => ({
        ...queue,
        failingSince: isoTime(failingSince),
        until: isoTime(until),
      })),
      ...(store === "android-store" && { acknowledgements }),
    });
  if (asked > 0) count("refreshes", { store, outcome: "OK" }, asked);
  if (failed > 0) count("refreshes", { store, outcome: "FAILED" }, failed);
  if (oldest > 0) time("refreshAge", oldest);
  if (acknowledgements.due > 0) count("acknowledgementsDue", {}, acknowledgements.due);
  if (acknowledgements.oldest > 0) time("acknowledgementAge", acknowledgements.oldest);
  if (acknowledgements.nearDeadline > 0)
    count("acknowledgementsNearDeadline", {}, acknowledgements.nearDeadline);
  if (acknowledgements.failed > 0) count("acknowledgementsFailed", {}, acknowledgements.failed);
};

/** Asks a store about the due purchases of all applications. */
export const refresh = async (run: AskRun, context: Invocation): Promise<AskReport> => {
  const done = await askDuePurchases(run, endOf(context));
  report(run.store, done);
  return done;
};
