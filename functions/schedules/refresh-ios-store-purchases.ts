import type { RefreshReport } from "../../lib/customers/refresh-due-purchases.ts";
import { composeIosStoreRefresh } from "../composition.ts";
import { now, optionalVariable } from "../configuration.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { refresh, type Invocation, type RefreshEvent } from "../refreshing.ts";
import { readSecret } from "../secrets.ts";
import { table } from "../table.ts";
import { trustedRoots } from "../trusted-roots.ts";

const run = composeIosStoreRefresh({
  table,
  trustedRoots: trustedRoots(),
  appStoreServerUrl: optionalVariable("APP_STORE_SERVER_URL"),
  readSecret,
  now,
  observe,
  onFailure: (error) => logger.error("refresh failed", { error: safely(error) }),
});

/** Runs on a schedule, and earlier when the table's stream tells of a due refresh. Asks Apple about due purchases. */
export const handler = async (event: RefreshEvent, context: Invocation): Promise<RefreshReport | null> =>
  refresh(run, event, context);
