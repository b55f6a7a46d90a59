import type { Context, DynamoDBStreamEvent } from "aws-lambda";
import type { ApplicationId } from "../lib/identifiers.ts";
import type { Key } from "../lib/table/keys.ts";
import { now } from "./environment/configuration.ts";
import { askDuePurchases, type AskReport, type AskRun } from "../lib/customers/asking/ask-due-purchases.ts";
import type { SweepReport } from "../lib/customers/sweep.ts";
import type { Store } from "../lib/contract/schemas.ts";
import { type Instant, isoTime } from "../lib/entitlements/time.ts";
import { logger } from "./observability/logger.ts";
import { count, time } from "./observability/metrics.ts";

/** Context of an invocation that must end in time. */
export type Invocation = Pick<Context, "getRemainingTimeInMillis">;

/** Longest step of scheduled work. No step starts that the timeout could cut off. */
const LONGEST_STEP_MILLISECONDS = 30_000;

/** Moment after which a run starts no further step. */
export const endOf = ({ getRemainingTimeInMillis }: Invocation): number =>
  now() + getRemainingTimeInMillis() - LONGEST_STEP_MILLISECONDS;

/**
 * A handler that a schedule calls, for all applications, and earlier the table's stream, for those of its records. Null:
 * they concern none.
 *
 * @param applicationOf the application whose work a new item with this key makes due; null: none
 */
export const calledByStream =
  <Report>(
    applicationOf: (key: Key) => ApplicationId | null,
    run: (until: number, only?: readonly ApplicationId[]) => Promise<Report>,
  ) =>
  async ({ Records }: Partial<DynamoDBStreamEvent>, context: Invocation): Promise<Report | null> => {
    if (Records === undefined) return run(endOf(context));
    const named = Records.flatMap(({ dynamodb }) => {
      const { pk, sk } = dynamodb?.Keys ?? {};
      return pk?.S === undefined || sk?.S === undefined ? [] : (applicationOf({ pk: pk.S, sk: sk.S }) ?? []);
    });
    return named.length === 0 ? null : run(endOf(context), [...new Set(named)]);
  };

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

/** A scheduled handler that asks a store about the due purchases of all applications. */
export const refreshing =
  (run: AskRun) =>
  async (_event: unknown, context: Invocation): Promise<AskReport> => {
    const done = await askDuePurchases(run, endOf(context));
    report(run.store, done);
    return done;
  };

/** A scheduled handler that reads a store's list. */
export const sweeping =
  (store: Store, sweep: (until: Instant) => Promise<SweepReport>) =>
  async (_event: unknown, context: Invocation): Promise<SweepReport> => {
    const done = await sweep(endOf(context));
    if (done.found + done.behind > 0) logger.info("store's list swept", { store, ...done });
    if (done.behind > 0) count("sweepsBehind", { store }, done.behind);
    if (done.found > 0) count("swept", { store }, done.found);
    return done;
  };
