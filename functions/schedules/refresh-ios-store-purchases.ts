import type { AskReport } from "../../lib/customers/asking/ask-due-purchases.ts";
import { composeIosStoreRefresh } from "../wiring/ios-store-asking.ts";
import { appStoreServerUrl, now } from "../environment/configuration.ts";
import type { Invocation } from "../runs/invocation.ts";
import { logger, safely } from "../observability/logger.ts";
import { observe } from "../observability/observe.ts";
import { refresh } from "../runs/refresh.ts";
import { readSecret } from "../environment/secrets.ts";
import { table } from "../environment/table.ts";
import { trustedRoots } from "../environment/trusted-roots.ts";

const run = composeIosStoreRefresh({
  table,
  trustedRoots: trustedRoots(),
  appStoreServerUrl: appStoreServerUrl(),
  readSecret,
  now,
  observe,
  onFailure: (error) => logger.error("refresh failed", { error: safely(error) }),
});

/** Runs on a schedule. Asks Apple about due purchases. */
export const handler = async (_event: unknown, context: Invocation): Promise<AskReport> =>
  refresh(run, context);
