import { performance } from "node:perf_hooks";
import { resourceUsage } from "node:process";
import { now } from "../environment/configuration.ts";
import { logger, safely } from "./logger.ts";
import { count, takeColdStart } from "./metrics.ts";
import { countTroubles } from "./troubles.ts";

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
