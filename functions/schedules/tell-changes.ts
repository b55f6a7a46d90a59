import { tellChanges, type TellingReport } from "../../lib/telling/tell-changes.ts";
import { lookOfKey } from "../../lib/table/named-by-key.ts";
import { composeTelling } from "../wiring/telling.ts";
import { now } from "../environment/configuration.ts";
import { endOf, type Invocation } from "../runs/invocation.ts";
import { masterSecret } from "../environment/master-secret.ts";
import { logger, safely } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";
import { calledFor, type ScheduleOrStreamEvent } from "../runs/stream-calls.ts";
import { table } from "../environment/table.ts";

const run = composeTelling({
  table,
  now,
  masterSecret,
  onFailure: (error) => logger.error("telling failed", { error: safely(error) }),
});

/** Allowance for clock skew within which a look in a stream record counts as due. */
const CLOCKS_DIFFER = 1000;

/**
 * Runs on a schedule, and earlier when the table's stream shows a due look. Tells accounts that differ from what was
 * last told.
 */
export const handler = async (
  event: ScheduleOrStreamEvent,
  context: Invocation,
): Promise<TellingReport | null> => {
  const only = calledFor(event, (key) => {
    const look = lookOfKey(key);
    return look === null || look.dueAt > now() + CLOCKS_DIFFER ? null : look.application;
  });
  if (only?.length === 0) return null;
  const report = await tellChanges(run, endOf(context), only ?? undefined);
  if (report.told > 0) count("changesTold", {}, report.told);
  if (report.oldest > 0) time("changeAge", report.oldest);
  return report;
};
