import { watchNotifications } from "../../lib/customers/notifications.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { createNotificationTimes } from "../../lib/table/queues/notifications.ts";
import { now } from "../environment/configuration.ts";
import { table } from "../environment/service.ts";
import { logger } from "../observability/logger.ts";
import { count } from "../observability/metrics.ts";
import { directoryOf } from "../wiring/service.ts";

const watch = { times: createNotificationTimes(table), directory: directoryOf({ table, now }), now };

/** Counts and logs the bundles and packages about which the stores have fallen silent. */
export const handler = async (): Promise<{ readonly silent: number }> => {
  const silent = await watchNotifications(watch);
  for (const { signedAt, ...store } of silent)
    logger.info("notifications silent", { ...store, lastSignedAt: isoTime(signedAt) });
  if (silent.length > 0) count("silentApplications", {}, silent.length);
  return { silent: silent.length };
};
