import type { ApplicationDirectory } from "../applications/application.ts";
import { DAY } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import {
  isSameNotified,
  type LastNotification,
  type NotificationTimes,
} from "./notifications/notification-log.ts";
import { storesInEnvironments } from "./asking/store-in-environment.ts";

export interface NotificationWatch {
  readonly times: Pick<NotificationTimes, "all">;
  readonly directory: ApplicationDirectory;
  readonly now: () => Instant;
}

/** Silence that is worth an alarm. */
const SILENT_MILLISECONDS = DAY;
/** Silence after which nobody expects notifications any more. */
const FORGOTTEN_MILLISECONDS = 30 * DAY;

/** Whether its application still has the bundle or package, and accepts the environment. */
const isExpected = async ({ directory }: NotificationWatch, last: LastNotification): Promise<boolean> => {
  const application = await directory.byIdentifier(last.application);
  return application !== null && storesInEnvironments(application).some((one) => isSameNotified(one, last));
};

/**
 * Bundles and packages with production notifications within 30 days, but none for a day. A sandbox is silent whenever
 * nobody tests.
 */
export const watchNotifications = async (watch: NotificationWatch): Promise<readonly LastNotification[]> => {
  const moment = watch.now();
  const silent: LastNotification[] = [];
  for (const last of await watch.times.all()) {
    if (last.environment !== "production") continue;
    const silence = moment - last.signedAt;
    if (silence < SILENT_MILLISECONDS || silence > FORGOTTEN_MILLISECONDS) continue;
    if (await isExpected(watch, last)) silent.push(last);
  }
  return silent;
};
