import { sweepIosStoreNotifications } from "../../lib/customers/sweep-ios-store-notifications.ts";
import type { SweepReport } from "../../lib/customers/notifications/sweep.ts";
import { composeIosStoreSweep } from "../wiring/ios-store-asking.ts";
import { appStoreServerUrl, now } from "../environment/configuration.ts";
import { endOf, type Invocation } from "../runs/invocation.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { reportSweep } from "../runs/report-sweep.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";
import { trustedRoots } from "../environment/trusted-roots.ts";

const sweep = composeIosStoreSweep({
  table,
  trustedRoots: trustedRoots(),
  appStoreServerUrl: appStoreServerUrl(),
  readSecret,
  now,
  observe,
  onFailure: (error) => logger.error("sweep failed", { error: safely(error) }),
});

/** Runs on a schedule. Reads Apple's histories of notifications, and uses them. */
export const handler = async (_event: unknown, context: Invocation): Promise<SweepReport> =>
  reportSweep("ios-store", await sweepIosStoreNotifications(sweep, endOf(context)));
