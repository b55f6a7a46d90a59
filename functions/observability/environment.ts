import { performance } from "node:perf_hooks";
import { resourceUsage } from "node:process";
import { takeColdStart } from "./metrics.ts";

/** Execution environment, as a request's log line has it. */
export interface Environment {
  /** Whether this is the first invocation of an environment that was started on demand. */
  readonly coldStart: boolean;
  /** Time from the process's start to its first invocation. Only where that is this one. */
  readonly initializationMilliseconds?: number;
}

/** Takes note of an invocation's beginning. */
export const takeEnvironment = (): Environment => {
  const coldStart = takeColdStart();
  return { coldStart, ...(coldStart && { initializationMilliseconds: Math.round(performance.now()) }) };
};

const KILOBYTES_IN_MEGABYTE = 1024;

/** Most memory that the process has held so far, its code included: what Lambda's limit counts, but for Lambda's own part. */
export const peakMegabytes = (): number => Math.round(resourceUsage().maxRSS / KILOBYTES_IN_MEGABYTE);
