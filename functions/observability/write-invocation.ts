import { now } from "../environment/configuration.ts";
import { peakMegabytes, takeEnvironment } from "./environment.ts";
import { logger, safely } from "./logger.ts";
import { count } from "./metrics.ts";
import { countTroubles } from "./troubles.ts";

/** The rest of an invocation's line. */
export interface Outcome extends Readonly<Record<string, unknown>> {
  readonly outcome: string;
}

/**
 * Ends an invocation: writes its line and counts it.
 *
 * @param failure what was thrown where the answer is 5xx: the line is an error's
 */
export type WriteInvocation = (outcome: Outcome, failure?: unknown) => void;

/**
 * Begins an invocation that answers a request.
 *
 * @param message the line's message
 * @param endpoint name of the function
 */
export const beginInvocation = (message: string, endpoint: string): WriteInvocation => {
  const startedAt = now();
  const environment = takeEnvironment();
  return (outcome, failure) => {
    count("requests", { endpoint, outcome: outcome.outcome });
    countTroubles(outcome.outcome, failure);
    const line = {
      endpoint,
      ...outcome,
      milliseconds: now() - startedAt,
      ...environment,
      peakMegabytes: peakMegabytes(),
    };
    if (failure === undefined) logger.info(message, line);
    else logger.error(message, { ...line, error: safely(failure) });
  };
};
