import type { ApplicationDirectory } from "../../applications/application.ts";
import { DAY, MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { notifyingStores, storeText, type StoreInEnvironment } from "../asking/store-in-environment.ts";

/** Time of the last notification of a bundle or package, by the store's clock; may lag by {@link STEP_MILLISECONDS}. */
export interface LastNotification extends StoreInEnvironment {
  readonly signedAt: Instant;
}

export interface NotificationTimes {
  /** Stores the time, unless the stored one is later or less than {@link STEP_MILLISECONDS} earlier. Returns the stored time. */
  raise(store: StoreInEnvironment, signedAt: Instant): Promise<Instant>;
  ofApplication(application: ApplicationId): Promise<readonly LastNotification[]>;
  all(): Promise<readonly LastNotification[]>;
}

/** Notes an authentic notification. Never rejects: a notification is used even if its note fails. */
export type NoteNotification = (store: StoreInEnvironment, signedAt: Instant) => Promise<void>;

/** Minimum time between two notes of a bundle or package: a flood causes one write in five minutes. */
export const STEP_MILLISECONDS = 5 * MINUTE;

/** Notes last notifications. Remembers what is stored, so that most notifications, and replays, cost no request. */
export const createNotificationLog = (
  { raise }: Pick<NotificationTimes, "raise">,
  onFailure: (error: unknown) => void,
): NoteNotification => {
  const stored = new Map<string, Instant>();
  return async (store, signedAt) => {
    const text = storeText(store);
    if (signedAt < (stored.get(text) ?? -Infinity) + STEP_MILLISECONDS) return;
    try {
      stored.set(text, await raise(store, signedAt));
    } catch (error) {
      onFailure(error);
    }
  };
};

export interface NotificationWatch {
  readonly times: Pick<NotificationTimes, "all">;
  readonly directory: ApplicationDirectory;
  readonly now: () => Instant;
}

/** Silence that is worth an alarm. */
const SILENT_MILLISECONDS = DAY;
/** Silence after which nobody expects notifications any more. */
const FORGOTTEN_MILLISECONDS = 30 * DAY;

const isExpected = async ({ directory }: NotificationWatch, last: LastNotification): Promise<boolean> => {
  const application = await directory.byIdentifier(last.application);
  return application !== null && notifyingStores(application).map(storeText).includes(storeText(last));
};

/** Those with production notifications within 30 days, but none for a day. A sandbox is silent when nobody tests. */
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
