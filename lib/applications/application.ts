import type { Store } from "../contract/schemas.ts";
import type { Catalog } from "../entitlements/catalog.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { Destination } from "./destination.ts";
import type { ANDROID_STORE_FIELDS, APPLICATION_FIELDS, IOS_STORE_FIELDS, Values } from "./fields.ts";

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

/** Looks up applications. Answers may be up to 60 seconds old. */
export interface ApplicationDirectory {
  /** Null where the application does not exist. */
  byIdentifier(identifier: ApplicationId): Promise<Application | null>;
  /** The application that a bundle or package belongs to. */
  byStore(reference: StoreReference): Promise<Application | null>;
}
