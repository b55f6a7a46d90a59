import { performance } from "node:perf_hooks";
import { resourceUsage } from "node:process";
import { takeColdStart } from "./metrics.ts";

/** Execution environment, for a request's log line. */
export interface Environment {
  /** Whether this is the first invocation of an environment that was started on demand. */
  readonly coldStart: boolean;
  /** Time from the process's start to its first invocation; set only for that invocation. */
  readonly initializationMilliseconds?: number;
}

/** Reads the environment; counts a cold start. */
export const takeEnvironment = (): Environment => {
  const coldStart = takeColdStart();
  return { coldStart, ...(coldStart && { initializationMilliseconds: Math.round(performance.now()) }) };
};

const KILOBYTES_IN_MEGABYTE = 1024;

/** Peak memory of the process, its code included: what Lambda's limit counts, except for Lambda's own part. */
export const peakMegabytes = (): number => Math.round(resourceUsage().maxRSS / KILOBYTES_IN_MEGABYTE);
