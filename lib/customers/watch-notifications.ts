import { storesOf, type ApplicationDirectory } from "../applications/application.ts";
import type { Instant } from "../entitlements/time.ts";
import type { LastNotification, NotificationTimes } from "./notification-log.ts";

export interface NotificationWatch {
  readonly times: Pick<NotificationTimes, "all">;
  readonly directory: ApplicationDirectory;
  readonly now: () => Instant;
}

const HOUR_MILLISECONDS = 3600 * 1000;
/** Silence that is worth an alarm. */
export const SILENT_MILLISECONDS = 24 * HOUR_MILLISECONDS;
/** Silence after which nobody expects notifications any more. */
export const FORGOTTEN_MILLISECONDS = 30 * 24 * HOUR_MILLISECONDS;

/** What has been removed from its application since is not expected to be heard of. */
const isRegistered = async (
  { directory }: NotificationWatch,
  { application, store, bundleOrPackage }: LastNotification,
): Promise<boolean> => {
  const found = await directory.byIdentifier(application);
  return (
    found !== null &&
    storesOf(found).some((one) => one.store === store && one.bundleOrPackage === bundleOrPackage)
  );
};

/** Bundles and packages of applications that had notifications within 30 days, but none for a day. */
export const silentStores = async (watch: NotificationWatch): Promise<readonly LastNotification[]> => {
  const moment = watch.now();
  const silent: LastNotification[] = [];
  for (const last of await watch.times.all()) {
    const silence = moment - last.signedAt;
    if (silence < SILENT_MILLISECONDS || silence > FORGOTTEN_MILLISECONDS) continue;
    if (await isRegistered(watch, last)) silent.push(last);
  }
  return silent;
};
