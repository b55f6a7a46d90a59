import type { Context } from "aws-lambda";
import {
  acknowledgeDuePurchases,
  type AcknowledgementReport,
} from "../../lib/customers/acknowledge-due-purchases.ts";
import { composeAcknowledgementRun } from "../composition.ts";
import { androidPublisherUrl, now } from "../environment/configuration.ts";
import { logger, safely } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";
import { observe } from "../observability/observe.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";

/** Longest try: a lookup and an acknowledgement. No try starts that the function's timeout could cut off. */
const LONGEST_TRY_MILLISECONDS = 25_000;

const run = composeAcknowledgementRun({
  table,
  androidPublisherUrl: androidPublisherUrl(),
  readSecret,
  now,
  observe,
  onFailure: (error) => logger.error("acknowledgement failed", { error: safely(error) }),
});

/** Runs on a schedule. Acknowledges due purchases that belong to an account, and retries until their deadline. */
export const handler = async (
  _event: unknown,
  context: Pick<Context, "getRemainingTimeInMillis">,
): Promise<AcknowledgementReport> => {
  const until = now() + context.getRemainingTimeInMillis() - LONGEST_TRY_MILLISECONDS;
  const report = await acknowledgeDuePurchases(run, until);
  logger.info("acknowledgements tried", { ...report });
  if (report.due > 0) count("acknowledgementsDue", {}, report.due);
  if (report.oldest > 0) time("acknowledgementAge", report.oldest);
  if (report.nearDeadline > 0) count("acknowledgementsNearDeadline", {}, report.nearDeadline);
  if (report.failed > 0) count("acknowledgementsFailed", {}, report.failed);
  return report;
};
