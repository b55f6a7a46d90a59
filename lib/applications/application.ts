import type { Store } from "../contract/schemas.ts";
import { MINUTE } from "../duration.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { createLoadingCache } from "../loading-cache.ts";
import type { ANDROID_STORE_FIELDS, APPLICATION_FIELDS, IOS_STORE_FIELDS, Values } from "./fields.ts";

interface NamedDestination {
  /** Unique in the application; letters, digits, `-` and `_`. */
  readonly name: string;
}

/** An endpoint of the application that receives signed messages. */
export interface WebhookDestination extends NamedDestination {
  readonly url: string;
  /** Times of its secret's rotations, newest first. Not secret: the secrets also need the master secret. */
  readonly secretEpochs: readonly Instant[];
}

interface EventBusDestination extends NamedDestination {
  readonly eventBus: string;
}

/** Receives every change of an account's entitlements. */
export type Destination = WebhookDestination | EventBusDestination;

export const isWebhook = (destination: Destination): destination is WebhookDestination =>
  "url" in destination;

export type IosStoreConfiguration = Values<typeof IOS_STORE_FIELDS>;

export type AndroidStoreConfiguration = Values<typeof ANDROID_STORE_FIELDS>;

/** See `TRANSFERS`. */
export type TransferPolicy = Application["transfers"];

/** A tenant, with everything that requests need. */
export interface Application extends Values<typeof APPLICATION_FIELDS> {
  readonly identifier: ApplicationId;
  readonly iosStore: readonly IosStoreConfiguration[];
  readonly androidStore: readonly AndroidStoreConfiguration[];
  readonly catalog: Catalog;
  readonly destinations: readonly Destination[];
}

/** Whether changes of accounts' entitlements are detected, kept and told. */
export const tellsChanges = ({
  destinations,
  keepsChanges,
}: Pick<Application, "destinations" | "keepsChanges">): boolean => keepsChanges || destinations.length > 0;

/** A bundle (`ios-store`) or a package (`android-store`). */
export interface StoreReference {
  readonly store: Store;
  readonly bundleOrPackage: string;
}

export const storesOf = ({
  iosStore,
  androidStore,
}: Pick<Application, "iosStore" | "androidStore">): readonly StoreReference[] => [
  ...iosStore.map(({ bundleIdentifier }) => ({
    store: "ios-store" as const,
    bundleOrPackage: bundleIdentifier,
  })),
  ...androidStore.map(({ packageName }) => ({
    store: "android-store" as const,
    bundleOrPackage: packageName,
  })),
];

/** Whether the old service has the bundle's address in App Store Connect, and forwards its notifications. */
export const isForwardedHere = ({ notifications }: Pick<IosStoreConfiguration, "notifications">): boolean =>
  notifications !== null && "forwardedBy" in notifications;

/** URL of the service that takes the bundle's notifications after this one; null: none does. */
export const forwardsTo = ({ notifications }: Pick<IosStoreConfiguration, "notifications">): string | null =>
  notifications !== null && "forwardTo" in notifications ? notifications.forwardTo : null;

const MAXIMUM_ENTRIES = 256;

/** Longest time until a changed application or catalog takes effect in the service's functions. */
export const DIRECTORY_AGE_MILLISECONDS = MINUTE;

/** Looks up applications. Answers may be up to 60 seconds old. */
export interface ApplicationDirectory {
  /** Null where the application does not exist. */
  byIdentifier(identifier: ApplicationId): Promise<Application | null>;
  /** The application that a bundle or package belongs to. */
  byStore(reference: StoreReference): Promise<Application | null>;
}

const storeReferenceText = ({ store, bundleOrPackage }: StoreReference): string =>
  `${store} ${bundleOrPackage}`;

/** Misses are not cached: what is new is found at once. */
export const createApplicationDirectory = ({
  load,
  applicationOf,
  now,
}: {
  readonly load: (identifier: ApplicationId) => Promise<Application | null>;
  readonly applicationOf: (reference: StoreReference) => Promise<ApplicationId | null>;
  readonly now: () => Instant;
}): ApplicationDirectory => {
  const bounds = {
    now,
    maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
    maximumEntries: MAXIMUM_ENTRIES,
  };
  const applications = createLoadingCache({ load, ...bounds, textOf: String });
  const identifiers = createLoadingCache({
    load: applicationOf,
    ...bounds,
    textOf: storeReferenceText,
  });

  /** Finds an application by a bundle or package that is registered to it and that it lists itself. */
  const lookUp = async (reference: StoreReference): Promise<Application | null> => {
    const identifier = await identifiers.get(reference);
    if (identifier === null) return null;
    const application = await applications.get(identifier);
    const stores = application === null ? [] : storesOf(application).map(storeReferenceText);
    if (stores.includes(storeReferenceText(reference))) return application;
    identifiers.forget(reference);
    applications.forget(identifier);
    return null;
  };
  return {
    byIdentifier: (identifier) => applications.get(identifier),
    // A cached registration and application of different ages may disagree: both are then loaded again, once.
    byStore: async (reference) => (await lookUp(reference)) ?? lookUp(reference),
  };
};
