import type { Context } from "aws-lambda";
import type { AcknowledgementReport } from "../../lib/customers/acknowledge-due-purchases.ts";
import { composeAcknowledgeDuePurchases, openTable } from "../../lib/service.ts";
import { now, optionalVariable, requiredVariable } from "../configuration.ts";
import { logger } from "../logger.ts";
import { readSecret } from "../secrets.ts";

/** One acknowledgement takes at most two store calls; none is begun that could be cut off by the function's end. */
const LONGEST_TRY_MILLISECONDS = 25_000;

const acknowledgeDuePurchases = composeAcknowledgeDuePurchases({
  table: openTable(requiredVariable("TABLE_NAME")),
  androidPublisherUrl: optionalVariable("ANDROID_PUBLISHER_URL"),
  readSecret,
  now,
});

/** Runs on a schedule: acknowledgements that failed when their purchase was linked are tried until their deadline. */
export const handler = async (
  _event: unknown,
  context: Pick<Context, "getRemainingTimeInMillis">,
): Promise<AcknowledgementReport> => {
  const until = now() + context.getRemainingTimeInMillis() - LONGEST_TRY_MILLISECONDS;
  const report = await acknowledgeDuePurchases(until);
  logger.info("acknowledgements tried", { ...report });
  return report;
};
