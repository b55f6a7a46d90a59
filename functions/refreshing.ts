import type { Context, DynamoDBStreamEvent } from "aws-lambda";
import {
  refreshDuePurchases,
  type RefreshReport,
  type RefreshRun,
} from "../lib/customers/refresh-due-purchases.ts";
import type { SweepReport } from "../lib/customers/sweep.ts";
import type { Store } from "../lib/contract/schemas.ts";
import { isoTime } from "../lib/entitlements/time.ts";
import type { ApplicationId } from "../lib/identifiers.ts";
import { refreshOfKey } from "../lib/table/keys.ts";
import { now } from "./configuration.ts";
import { logger } from "./observability/logger.ts";
import { count, time } from "./observability/metrics.ts";

/** Longest batch: a lookup, an acknowledgement, and the table. Nothing starts that the function's timeout could cut off. */
const LONGEST_STEP_MILLISECONDS = 30_000;

/** Context of an invocation that must end in time. */
export type Invocation = Pick<Context, "getRemainingTimeInMillis">;

/** Moment from which a run starts nothing more. */
export const endOf = ({ getRemainingTimeInMillis }: Invocation): number =>
  now() + getRemainingTimeInMillis() - LONGEST_STEP_MILLISECONDS;

/** Call of the schedule, or of the table's stream. */
export type RefreshEvent = Partial<DynamoDBStreamEvent>;

/** Difference of clocks up to which a refresh in a stream's record counts as due. */
const CLOCKS_DIFFER = 1000;

/** Applications of due refreshes that the table's stream tells of; null: the schedule calls, for all applications. */
const calledFor = (event: RefreshEvent): readonly ApplicationId[] | null => {
  if (event.Records === undefined) return null;
  const due = event.Records.flatMap(({ dynamodb }) => {
    const { pk, sk } = dynamodb?.Keys ?? {};
    const refresh = pk?.S === undefined || sk?.S === undefined ? null : refreshOfKey({ pk: pk.S, sk: sk.S });
    return refresh === null || refresh.dueAt > now() + CLOCKS_DIFFER ? [] : [refresh.application];
  });
  return [...new Set(due)];
};

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

/**
 * Refreshes what is due: of all applications when the schedule calls, and of those named where the table's stream calls,
 * which only makes it earlier.
 */
export const refresh = async (
  run: RefreshRun,
  event: RefreshEvent,
  context: Invocation,
): Promise<RefreshReport | null> => {
  const only = calledFor(event);
  if (only?.length === 0) return null;
  const done = await refreshDuePurchases(run, endOf(context), only ?? undefined);
  report(run.store, done);
  if (only === null) count("refreshRuns", { store: run.store });
  return done;
};

/** Logs and counts a sweep. */
export const reportSweep = (store: Store, done: SweepReport): SweepReport => {
  if (done.found + done.behind > 0) logger.info("store's list swept", { store, ...done });
  if (done.behind > 0) count("sweepsBehind", { store }, done.behind);
  if (done.found > 0) count("swept", { store }, done.found);
  return done;
};
