import { performance } from "node:perf_hooks";
import { resourceUsage } from "node:process";
import { ServiceError } from "../../lib/contract/errors.ts";
import { now } from "../environment/configuration.ts";
import { logger, safely } from "./logger.ts";
import { count, takeColdStart } from "./metrics.ts";

const LAST = 100;

/** Takes request after request: the bad share of the last hundred, the newest included. */
export const recentShare = (): ((isBad: boolean) => number) => {
  const last: boolean[] = [];
  return (isBad) => {
    last.push(isBad);
    if (last.length > LAST) last.shift();
    return last.filter(Boolean).length / last.length;
  };
};

/** Shares from which a person is needed. */
const FAILED = 1 / 20;
const REFUSED = 1 / 5;

const CREDENTIAL_REFUSALS: ReadonlySet<string> = new Set(["REFUSED", "INVALID_CREDENTIAL"]);
const TRANSACTION_REFUSALS: ReadonlySet<string> = new Set(["INVALID_APP_TRANSACTION", "INVALID_TRANSACTION"]);

const failedShare = recentShare();
const refusedShare = recentShare();

/** Failures with an alarm of their own, unless this service is the cause. */
const codeWithAlarm = (failure: unknown): "STORE_UNAVAILABLE" | "STORE_REJECTED_CREDENTIAL" | null =>
  failure instanceof ServiceError &&
  failure.cause === undefined &&
  (failure.code === "STORE_UNAVAILABLE" || failure.code === "STORE_REJECTED_CREDENTIAL")
    ? failure.code
    : null;

/**
 * Counts what the alarms watch of a request, without dimensions: an alarm is billed by the metrics that it reads.
 *
 * @param failure what was thrown where the answer is 5xx
 */
const countTroubles = (outcome: string, failure: unknown): void => {
  if (CREDENTIAL_REFUSALS.has(outcome)) count("credentialsRefused");
  const isRefused = TRANSACTION_REFUSALS.has(outcome);
  if (refusedShare(isRefused) >= REFUSED && isRefused) count("transactionsRefused");
  const code = codeWithAlarm(failure);
  if (code === "STORE_UNAVAILABLE") count("unansweredRequests");
  const hasFailed = failure !== undefined && code === null;
  const isLone = failedShare(hasFailed) < FAILED && hasFailed;
  if (code !== null || isLone) count("harmlessFailures");
};

const KILOBYTES_IN_MEGABYTE = 1024;

/** The rest of an invocation's line. */
interface Outcome extends Readonly<Record<string, unknown>> {
  readonly outcome: string;
}

/**
 * Begins an invocation that answers a request. The result writes its line and counts it: as an error where there is a
 * `failure`, which was thrown where the answer is 5xx.
 */
export const beginInvocation = (message: string, endpoint: string) => {
  const startedAt = now();
  const coldStart = takeColdStart();
  // From the process's start to its first invocation.
  const initializationMilliseconds = Math.round(performance.now());
  return (outcome: Outcome, failure?: unknown): void => {
    count("requests", { endpoint, outcome: outcome.outcome });
    countTroubles(outcome.outcome, failure);
    const line = {
      endpoint,
      ...outcome,
      milliseconds: now() - startedAt,
      coldStart,
      ...(coldStart && { initializationMilliseconds }),
      // What Lambda's limit counts, except for Lambda's own part.
      peakMegabytes: Math.round(resourceUsage().maxRSS / KILOBYTES_IN_MEGABYTE),
    };
    if (failure === undefined) logger.info(message, line);
    else logger.error(message, { ...line, error: safely(failure) });
  };
};
