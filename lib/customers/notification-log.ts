import type { Application, StoreReference } from "../applications/application.ts";
import type { Environment } from "../contract/schemas.ts";
import { MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";

/**
 * A bundle or package that a store notifies about. Each environment has its own notification URL, which may be wrong by
 * itself.
 */
export interface NotifiedStore extends StoreReference {
  readonly application: ApplicationId;
  readonly environment: Environment;
}

/** A Google push does not name the environment, so a package has one note. */
export const notifiedPackage = (application: ApplicationId, packageName: string): NotifiedStore => ({
  application,
  store: "android-store",
  environment: "production",
  bundleOrPackage: packageName,
});

/** Bundles and packages of an application that a store may notify about. StoreKit testing in Xcode sends nothing. */
export const notifiedStoresOf = ({
  identifier: application,
  iosStore,
  androidStore,
}: Application): readonly NotifiedStore[] => [
  ...iosStore.flatMap(({ bundleIdentifier, environments }) =>
    environments
      .filter((environment) => environment !== "xcode")
      .map((environment) => ({
        application,
        store: "ios-store" as const,
        environment,
        bundleOrPackage: bundleIdentifier,
      })),
  ),
  ...androidStore.map(({ packageName }) => notifiedPackage(application, packageName)),
];

const textOf = ({ application, store, environment, bundleOrPackage }: NotifiedStore): string =>
  JSON.stringify([application, store, environment, bundleOrPackage]);

/** Whether both are one bundle or package of one application, in one environment. */
export const isSameNotified = (one: NotifiedStore, other: NotifiedStore): boolean =>
  textOf(one) === textOf(other);

/** Time of the last notification of a bundle or package, by the store's clock; may lag by {@link STEP_MILLISECONDS}. */
export interface LastNotification extends NotifiedStore {
  readonly signedAt: Instant;
}

/** Last notifications as stored. */
export interface NotificationTimes {
  /**
   * Stores the time, unless the stored one is later, or earlier by less than {@link STEP_MILLISECONDS}. Returns the
   * stored time.
   */
  raise(store: NotifiedStore, signedAt: Instant): Promise<Instant>;
  ofApplication(application: ApplicationId): Promise<readonly LastNotification[]>;
  all(): Promise<readonly LastNotification[]>;
}

/** Notes an authentic notification. Never rejects: a notification is used even if its note fails. */
export type NoteNotification = (store: NotifiedStore, signedAt: Instant) => Promise<void>;

/** Minimum time between two notes of a bundle or package: a flood causes one write in five minutes. */
export const STEP_MILLISECONDS = 5 * MINUTE;

const MAXIMUM_ENTRIES = 256;

/**
 * Notes the last notification of each bundle and package, by environment. Remembers what is stored, so that most notifications, and every
 * replay, cost no request.
 *
 * @param onFailure takes a failure of the table
 */
export const createNotificationLog = (
  { raise }: Pick<NotificationTimes, "raise">,
  onFailure: (error: unknown) => void,
): NoteNotification => {
  const stored = new Map<string, Instant>();
  return async (store, signedAt) => {
    const text = textOf(store);
    if (signedAt < (stored.get(text) ?? -Infinity) + STEP_MILLISECONDS) return;
    try {
      stored.set(text, await raise(store, signedAt));
    } catch (error) {
      onFailure(error);
    }
    const [oldest] = stored.keys();
    if (stored.size > MAXIMUM_ENTRIES && oldest !== undefined) stored.delete(oldest);
  };
};
