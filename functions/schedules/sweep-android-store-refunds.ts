import { sweepAndroidStoreRefunds } from "../../lib/customers/sweep-android-store-refunds.ts";
import type { SweepReport } from "../../lib/customers/notifications/sweep.ts";
import { composeAndroidStoreSweep } from "../wiring/android-store-asking.ts";
import { androidPublisherUrl, now } from "../environment/configuration.ts";
import { endOf, type Invocation } from "../runs/invocation.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { reportSweep } from "../runs/report-sweep.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";

const sweep = composeAndroidStoreSweep({
  table,
  androidPublisherUrl: androidPublisherUrl(),
  readSecret,
  now,
  observe,
  onFailure: (error) => logger.error("sweep failed", { error: safely(error) }),
});

/** Runs on a schedule. Reads Google's lists of voided purchases, and asks about those that are known here. */
export const handler = async (_event: unknown, context: Invocation): Promise<SweepReport> =>
  reportSweep("android-store", await sweepAndroidStoreRefunds(sweep, endOf(context)));
